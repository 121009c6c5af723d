import { type Agent, type AgentInput, type EventDraft, type RunContext, say } from '@troupe/kernel'
import { observe } from '@troupe/kernel/run'
import { describe, expect, it } from 'vitest'
import { broken, expectBroken } from './broken.fixture.ts'
import { agentClauses, testAgent } from './test-agent.ts'

const call = { id: 'c1', name: 'look', arguments: '{}' }
const answered = {
  type: 'tool-end',
  callId: 'c1',
  messageId: 't1',
  name: 'look',
  status: 'complete',
  content: 'A cat.',
} as const

/** An agent that calls a tool and answers; `change` breaks what it says. */
function looking(change: (drafts: EventDraft[]) => EventDraft[] = (drafts) => drafts): () => Agent {
  return () => ({
    name: 'looking',
    description: 'Looks and tells.',
    async *run(_input, ctx) {
      const id = ctx.ids.next()
      const drafts: EventDraft[] = [
        { type: 'message-start', messageId: id },
        { type: 'tool-call-start', messageId: id, callId: 'c1', name: 'look' },
        { type: 'tool-call-end', call },
        { type: 'message-end', message: { id, role: 'assistant', content: '', toolCalls: [call] } },
        { type: 'tool-start', callId: 'c1', name: 'look', arguments: '{}' },
        answered,
      ]
      for (const draft of change(drafts)) {
        ctx.signal.throwIfAborted()
        yield draft
      }
      yield* say(ctx, 'A cat.')
    },
  })
}

testAgent('an agent that calls a tool', looking())

testAgent(
  'an agent that takes a call back which its model had only begun to write',
  looking((drafts) => {
    const [start] = drafts
    const id = start?.type === 'message-start' ? start.messageId : ''
    return [
      ...drafts.slice(0, 2),
      { ...answered, status: 'dropped', content: '' },
      { type: 'message-end', message: { id, role: 'assistant', content: 'Hm.' } },
    ]
  }),
)

/** An agent whose call asks a person; `again` is what it says of the call when it is resumed. */
function asking(again: readonly EventDraft[] = []): () => Agent {
  return () => ({
    name: 'asking',
    description: 'Asks before it looks.',
    async *run(_input, ctx) {
      const id = ctx.ids.next()
      yield { type: 'message-start', messageId: id }
      yield { type: 'message-end', message: { id, role: 'assistant', content: '', toolCalls: [call] } }
      yield { type: 'tool-start', callId: 'c1', name: 'look', arguments: '{}' }
      const interrupts = [{ id: 'c1#x', reason: 'approval', agentName: 'asking', callId: 'c1' }]
      yield { type: 'action', action: { type: 'interrupt', interrupts, state: 1 } }
    },
    async *resume(_info, ctx) {
      yield* again
      yield answered
      yield* say(ctx, 'A cat.')
    },
  })
}
const answer = () => ({ 'c1#x': true })

testAgent('an agent that asks', asking(), { answer })

const running = (run: (input: AgentInput, ctx: RunContext) => AsyncIterable<EventDraft>) => (): Agent => ({
  name: 'broken',
  description: '',
  run,
})
const wellFormed = 'a run on untouchable input is well formed and does not fail'

const inOrder = 'an agent shows its events between its start and its end, and its path names the agents that led to it'
const transfers = 'an agent that transfers ends before the next one starts'
const child: Agent = { name: 'child', description: '', run: (_input, ctx) => say(ctx, 'I am the child.') }
/** A flow of two agents, which observes them itself; `path` is what it says led to the second. */
const flow = (path: readonly string[], early: boolean) => (): Agent => ({
  name: 'lead',
  description: '',
  observesItself: true,
  async *run(input, ctx) {
    const transfer = { type: 'action', action: { type: 'transfer-to-agent', agentName: 'child' } } as const
    const taken = () => observe(child, input, ctx.derive({ step: 'agent:1', runPath: path }))
    const lead: Agent = {
      name: 'lead',
      description: '',
      async *run() {
        yield transfer
        if (early) yield* taken()
      },
    }
    yield* observe(lead, input, ctx)
    if (!early) yield* taken()
  },
})

testAgent('a flow of two agents', flow(['lead'], false))

const mutants: Record<string, { readonly make: () => Agent; readonly caught: string; readonly says?: RegExp }> = {
  'it has no name': { make: () => ({ ...looking()(), name: '' }), caught: 'has a name and a description' },
  'it changes its input': {
    make: running(async function* (input, ctx) {
      Object.assign(input.messages[0] ?? {}, { content: 'Mine.' })
      yield* say(ctx, 'Hi')
    }),
    caught: wellFormed,
    says: /^The run ended as failed with .*read only.*\nWhat to do: Make a copy and change that/,
  },
  'it throws': {
    make: running(() => {
      throw new Error('no')
    }),
    caught: wellFormed,
  },
  'an event is not JSON': {
    make: looking((drafts) => [...drafts, { type: 'custom', name: 'at', data: new Date(0) as never }]),
    caught: 'every event is plain JSON and says where it comes from',
  },
  'text comes after the message has ended': {
    make: looking((drafts) => [...drafts, { type: 'text-delta', messageId: 'm1', delta: 'late' }]),
    caught: 'each message begins, grows and ends once',
  },
  'a message never ends': {
    make: looking((drafts) => [{ type: 'message-start', messageId: 'm0' }, ...drafts]),
    caught: 'each message begins, grows and ends once',
  },
  'a partial message has calls': {
    make: looking((drafts) =>
      drafts.map((draft) =>
        draft.type === 'message-end' ? { ...draft, message: { ...draft.message, partial: true } } : draft,
      ),
    ),
    caught: 'each message begins, grows and ends once',
    says: /^The agent ends message \S+, which is partial, with calls, which never run\.\nWhat to do: /,
  },
  'a message that an abort cuts off keeps its calls': {
    make: running(async function* (_input, ctx) {
      const id = ctx.ids.next()
      yield { type: 'message-start', messageId: id }
      const message = { id, role: 'assistant', content: 'Hi' } as const
      const cut = { ...message, toolCalls: [call], partial: true } as const
      await new Promise((resolve) => setImmediate(resolve))
      yield { type: 'message-end', message: ctx.signal.aborted ? cut : message }
    }),
    caught: 'ends at once, and once, when it is aborted after any event',
  },
  'a call is answered twice': {
    make: looking((drafts) => [...drafts, answered]),
    caught: 'each tool call is answered exactly once',
  },
  'a call that no message asked for is answered': {
    make: looking((drafts) => [...drafts, { ...answered, callId: 'c9' }]),
    caught: 'each tool call is answered exactly once',
  },
  'a call that no message asked for is started': {
    make: looking((drafts) => [...drafts, { type: 'tool-start', callId: 'c9', name: 'look', arguments: '{}' }]),
    caught: 'each tool call is answered exactly once',
  },
  'runs share an id': {
    make: running(async function* () {
      yield { type: 'message-start', messageId: 'm1' }
      yield { type: 'message-end', message: { id: 'm1', role: 'assistant', content: 'Hi' } }
    }),
    caught: 'two runs at once do not mix',
  },
  'it remembers its first run': {
    make: () => {
      let runs = 0
      return running(async function* (_input, ctx) {
        runs++
        for (let i = 0; i < runs; i++) yield* say(ctx, 'Hi')
      })()
    },
    caught: 'a second run does not build on the first',
  },
  'it leads to an agent from nowhere': { make: flow(['nobody'], false), caught: inOrder },
  'it shows events after its end': {
    make: () => ({
      ...flow(['lead'], false)(),
      async *run(input, ctx) {
        yield* observe(child, input, ctx)
        yield { type: 'custom', name: 'late', data: 1, agentName: 'child', runPath: [] }
      },
    }),
    caught: inOrder,
  },
  'the agent that transfers has not ended': { make: flow(['lead'], true), caught: transfers },
  'it leaves a listener on the signal': {
    make: running(async function* (_input, ctx) {
      ctx.signal.addEventListener('abort', () => undefined)
      yield* say(ctx, 'Hi')
    }),
    caught: 'leaves no listener behind',
  },
  'it hangs when it is aborted': {
    make: running(async function* (_input, ctx) {
      yield* say(ctx, 'Hi')
      if (ctx.signal.aborted) await new Promise(() => undefined)
    }),
    caught: 'ends at once, and once, when it is aborted after any event',
  },
  'it hangs when its consumer leaves': {
    make: running(async function* (_input, ctx) {
      try {
        yield* say(ctx, 'Hi')
      } finally {
        if (ctx.signal.aborted) await new Promise(() => undefined)
      }
    }),
    caught: 'ends at once, and once, when its consumer leaves after any event; no tool starts after that',
  },
}

describe('testAgent', () => {
  it('holds for a sound agent', async () => {
    expect(await broken(agentClauses(looking()))).toEqual([])
  })

  it.each<[string, EventDraft]>([
    ['it announces a call again', { type: 'tool-start', callId: 'c1', name: 'look', arguments: '{}' }],
    ['it answers a call twice', answered],
  ])('notices that, resumed, %s', async (_, draft) => {
    const twice =
      draft.type === 'tool-end'
        ? [{ type: 'tool-start', callId: 'c1', name: 'look', arguments: '{}' } as const, draft]
        : [draft]
    await expectBroken(agentClauses(asking(twice), { answer }), [
      'resumed with answers, it announces no call again and repeats none that was answered',
    ])
  })

  it('notices that it breaks on additions', async () => {
    const make = (): Agent => ({
      ...looking()(),
      acceptsAdditions: true,
      async *run(input, ctx) {
        if (input.additions) throw new Error('what is this?')
        yield* say(ctx, 'Hi')
      },
    })
    await expectBroken(agentClauses(make), ['takes additions without harm, if it says that it takes them'])
  })

  for (const [wrong, { make, caught, says = /./ }] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      const complaints = await expectBroken(agentClauses(make), [caught])
      expect(complaints.get(caught)).toMatch(says)
    })
  }
})
