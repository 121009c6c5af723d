import { HttpAgent, type Message } from '@ag-ui/client'
import { HttpAgent as OldHttpAgent } from '@ag-ui/client-0'
import { type AgUiEvent, type AgUiHandlerOptions, agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import { defineTool, type Store, textOf } from '@troupe/kernel'
import type { ScriptedTurn } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, PICK, STORES, scripted } from '../in-process-client.fixture.ts'

const BROKEN = { error: { at: 'before', error: new Error('no network') } } as const
const TORN = { text: ['Half ', 'an answer'], error: { at: 'mid', error: new Error('no network') } } as const

const add = defineTool({
  name: 'add',
  description: 'Adds to the cart.',
  parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
  invoke({ item }, { state }) {
    state.set('cart', [...((state.get('cart') as string[] | undefined) ?? []), item])
    return 'Added.'
  },
})
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object' },
  needsApproval: () => true,
  invoke: () => 'Paid.',
})
const adds = (item: string): ScriptedTurn => ({ toolCalls: [{ name: 'add', arguments: { item } }] })

const CLIENTS: [string, typeof HttpAgent][] = [
  ['1.0.0', HttpAgent],
  ['0.0.59', OldHttpAgent as unknown as typeof HttpAgent],
]
const EDITS = ['B2', 'B'].flatMap((id) => CLIENTS.map(([version, Agent]) => [id, version, Agent] as const))

/** A server, and clients of one thread that ask it over HTTP. */
async function serve(store: Store, turns: readonly ScriptedTurn[], options: Partial<AgUiHandlerOptions> = {}) {
  const { agent, model } = scripted(turns, [add, pay])
  const owner = { app: ANN.app, user: ANN.user }
  const flow = runner({ agent, store, report: () => {} })
  const handler = agUiHandler({ runner: flow, store, owner, report: () => {}, ...options } as AgUiHandlerOptions)
  const server = await agUiServer(handler)
  const tab = (Agent: typeof HttpAgent = HttpAgent) => {
    const agent = new Agent({ url: server.url, threadId: ANN.threadId })
    const run = async (): Promise<string> => {
      let end = ''
      await agent.runAgent(undefined, {
        onEvent: ({ event }) => {
          const last = event as AgUiEvent
          if (last.type === 'RUN_ERROR') end = last.code ?? ''
          if (last.type === 'RUN_FINISHED') end = last.outcome?.type ?? ''
        },
      })
      return end
    }
    return {
      agent,
      run,
      say(content: string, id: string = content) {
        agent.addMessage({ id, role: 'user', content })
        return run()
      },
      /** Shows the messages up to the first with this id, without it. */
      cutBefore(id: string) {
        agent.setMessages(
          agent.messages.slice(
            0,
            agent.messages.findIndex((message) => message.id === id),
          ),
        )
      },
      /** Cuts the last answer off. */
      cutAnswer() {
        const last = agent.messages.findLastIndex(({ role }) => role === 'user')
        agent.setMessages(agent.messages.slice(0, last + 1))
      },
      get texts() {
        return agent.messages.filter(({ role }) => role !== 'tool').map(textIn)
      },
    }
  }
  const heard = () => model.requests.at(-1)?.messages.map(({ content }) => textOf(content))
  const texts = async (threadId = ANN.threadId) =>
    (await store.threads.messages({ ...ANN, threadId })).map(({ message }) => textOf(message.content))
  return { tab, heard, texts, model, [Symbol.asyncDispose]: () => server.stop(100) }
}

function textIn({ content }: Message): string {
  return typeof content === 'string' ? content : ''
}

describe.each(STORES)('retry, %s', (_, make) => {
  it('answers a turn whose run has failed before it said anything', async () => {
    await using store = make()
    await using chat = await serve(store, [BROKEN, 'Here I am.'])
    const tab = chat.tab()
    expect(await tab.say('Hello?')).toBe('MODEL_FAILED')
    expect(await tab.run()).toBe('success')
    expect(tab.texts).toEqual(['Hello?', 'Here I am.'])
    expect(chat.heard()).toEqual(['Hello?'])
    expect(await chat.texts()).toEqual(['Hello?', 'Here I am.'])
  })

  it('answers a turn whose answer broke off, without what it had said so far', async () => {
    await using store = make()
    await using chat = await serve(store, [TORN, 'A whole answer.'])
    const tab = chat.tab()
    await tab.say('Hello?')
    expect(await tab.run()).toBe('success')
    expect(chat.heard()).toEqual(['Hello?'])
    expect(tab.texts).toEqual(['Hello?', 'A whole answer.'])
    expect(await chat.texts()).toEqual(['Hello?', 'A whole answer.'])
    expect(await chat.texts('t1~1')).toEqual(['Hello?', 'Half '])
  })

  it('goes on after a tool whose result no model has seen', async () => {
    await using store = make()
    await using chat = await serve(store, [adds('tea'), BROKEN, 'Tea it is.'])
    const tab = chat.tab()
    await tab.say('Tea')
    expect(await tab.run()).toBe('success')
    expect(tab.texts.at(-1)).toBe('Tea it is.')
    expect((await store.threads.get(ANN))?.state).toEqual({ cart: ['tea'] })
  })

  it('is a bare start and finish if the turn was answered', async () => {
    await using store = make()
    await using chat = await serve(store, ['Hi.'])
    const tab = chat.tab()
    await tab.say('Hello')
    expect(await tab.run()).toBe('success')
    expect(tab.texts).toEqual(['Hello', 'Hi.'])
    expect(chat.model.requests).toHaveLength(1)
  })
})

describe.each(STORES)('regenerate, %s', (_, make) => {
  it('answers again, with the state from before, and keeps the old answer', async () => {
    await using store = make()
    await using chat = await serve(store, [adds('tea'), 'Tea it is.', adds('milk'), 'Milk it is.', 'Bye.'])
    const tab = chat.tab()
    await tab.say('Something')
    tab.cutAnswer()
    expect(await tab.run()).toBe('success')
    expect(tab.texts).toEqual(['Something', '', 'Milk it is.'])
    expect(chat.heard()).toEqual(['Something', '', 'Added.'])
    expect((await store.threads.get(ANN))?.state).toEqual({ cart: ['milk'] })
    expect(tab.agent.state).toEqual({ cart: ['milk'] })
    expect(await chat.texts('t1~1')).toEqual(['Something', '', 'Added.', 'Tea it is.'])
    expect((await store.threads.get({ ...ANN, threadId: 't1~1' }))?.state).toEqual({ cart: ['tea'] })
    expect(await tab.say('Bye')).toBe('success')
    expect(chat.heard()?.at(-2)).toBe('Milk it is.')
  })

  it.each(CLIENTS)('an earlier answer, as often as it is asked for, HttpAgent %s', async (_, Agent) => {
    await using store = make()
    await using chat = await serve(store, ['1', '2', '3', '4'])
    const tab = chat.tab(Agent)
    await tab.say('A')
    await tab.say('B')
    for (const answer of ['3', '4']) {
      tab.cutBefore('B')
      tab.cutAnswer()
      await tab.run()
      expect(chat.heard()).toEqual(['A'])
      expect(tab.texts).toEqual(['A', answer])
    }
    expect(await chat.texts('t1~1')).toEqual(['A', '1', 'B', '2'])
    expect(await chat.texts('t1~2')).toEqual(['A', '3'])
  })
})

describe.each(STORES)('edit, %s', (_, make) => {
  it.each(EDITS)(
    'shows the model what the client shows, with the new text as message %s, HttpAgent %s',
    async (id, _, Agent) => {
      await using store = make()
      await using chat = await serve(store, ['1', '2', '3', '4'])
      const tab = chat.tab(Agent)
      await tab.say('A')
      await tab.say('B')
      tab.cutBefore('B')
      expect(await tab.say('Not B', id)).toBe('success')
      expect(chat.heard()).toEqual(['A', '1', 'Not B'])
      expect(tab.texts).toEqual(['A', '1', 'Not B', '3'])
      expect(await chat.texts('t1~1')).toEqual(['A', '1', 'B', '2'])
      await tab.say('C')
      expect(chat.heard()).toEqual(['A', '1', 'Not B', '3', 'C'])
    },
  )

  it.each([
    ['an answered message', '2'],
    ['a message whose run failed', BROKEN],
  ] satisfies [string, ScriptedTurn][])('of %s counts beside a new message', async (_, second) => {
    await using store = make()
    await using chat = await serve(store, ['1', second, '3'])
    const tab = chat.tab()
    await tab.say('A')
    await tab.say('B')
    tab.cutBefore('B')
    tab.agent.addMessage({ id: 'B', role: 'user', content: 'Not B' })
    expect(await tab.say('C')).toBe('success')
    expect(chat.heard()).toEqual(['A', '1', 'Not B', 'C'])
    expect(tab.texts).toEqual(['A', '1', 'Not B', 'C', '3'])
    expect(await chat.texts()).toEqual(['A', '1', 'Not B', 'C', '3'])
    expect((await chat.texts('t1~1')).slice(0, 3)).toEqual(['A', '1', 'B'])
  })

  it('is a new message for an app that says so', async () => {
    await using store = make()
    await using chat = await serve(store, ['1', '2', '3'], { edits: 'append' })
    const tab = chat.tab()
    await tab.say('A')
    await tab.say('B')
    tab.cutBefore('B')
    await tab.say('Not B')
    expect(chat.heard()).toEqual(['A', '1', 'B', '2', 'Not B'])
  })
})

describe.each(STORES)('a second tab, %s', (_, make) => {
  it('that has not seen the last answer, or has loaded nothing, adds to the thread', async () => {
    await using store = make()
    await using chat = await serve(store, ['1', '2', '3'])
    const [first, behind, fresh] = [chat.tab(), chat.tab(), chat.tab()]
    behind.agent.addMessage({ id: 'A', role: 'user', content: 'A' })
    await first.say('A')
    await behind.say('B')
    expect(chat.heard()).toEqual(['A', '1', 'B'])
    await fresh.say('C')
    expect(chat.heard()).toEqual(['A', '1', 'B', '2', 'C'])
    expect(await store.threads.list(ANN)).toHaveLength(1)
  })

  it('that asks for nothing gets nothing, whatever it has not seen', async () => {
    await using store = make()
    await using chat = await serve(store, ['1', '2'])
    const [first, behind] = [chat.tab(), chat.tab()]
    await first.say('A')
    behind.agent.setMessages([...first.agent.messages])
    await first.say('B')
    expect(await behind.run()).toBe('success')
    expect(await chat.texts()).toEqual(['A', '1', 'B', '2'])
  })

  it('that has loaded nothing gets the thread in a snapshot, not its own view', async () => {
    await using store = make()
    await using chat = await serve(store, ['1', { toolCalls: [{ name: 'pay', arguments: {} }] }])
    const [first, fresh] = [chat.tab(), chat.tab()]
    await first.say('A')
    expect(await fresh.say('Pay')).toBe('interrupt')
    // The official client keeps the order of what it has, and adds the rest.
    expect(fresh.texts).toEqual(['Pay', '', 'A', '1'])
    first.agent.setMessages([])
    expect(await first.run()).toBe('interrupt')
    expect(first.texts).toEqual(['A', '1', 'Pay', ''])
  })

  it('does not lose what another process has said in the thread', async () => {
    await using store = make()
    await using chat = await serve(store, ['1', '3'])
    const tab = chat.tab()
    await tab.say('A')
    const { agent } = scripted(['2'])
    await runner({ agent, store }).query('from a job', { session: ANN })
    await tab.say('B')
    expect(chat.heard()).toEqual(['A', '1', 'from a job', '2', 'B'])
  })
})

describe.each(STORES)('stop, with the default settings, %s', (_, make) => {
  it('ends the run for the next message, and keeps what was said so far', async () => {
    await using store = make()
    const half = { text: ['Half ', 'an answer'], hang: 'mid' } as const
    await using chat = await serve(store, [half, 'Next.', half, 'Again.'])
    const tab = chat.tab()
    const stopped = async (content: string) => {
      tab.agent.addMessage({ id: content, role: 'user', content })
      await tab.agent.runAgent(undefined, { onTextMessageContentEvent: () => tab.agent.abortRun() }).catch(() => {})
    }
    await stopped('A')
    expect(await tab.say('B')).toBe('success')
    expect(chat.heard()).toEqual(['A', 'Half ', 'B'])
    await stopped('C')
    tab.cutAnswer()
    expect(await tab.run()).toBe('success')
    expect(chat.heard()).toEqual(['A', 'Half ', 'B', 'Next.', 'C'])
  })
})

describe.each(STORES)('the result of a call and a new message in one request, %s', (_, make) => {
  it('both count, in that order, in one continuation', async () => {
    await using store = make()
    await using chat = await serve(store, [
      { toolCalls: [{ id: 'c1', name: PICK.name, arguments: { from: [] } }] },
      'Red, then.',
    ])
    const { agent, say } = chat.tab()
    agent.addMessage({ id: 'A', role: 'user', content: 'Pick' })
    await agent.runAgent({ tools: [PICK] })
    agent.addMessage({ id: 'r1', role: 'tool', toolCallId: 'c1', content: 'red' })
    expect(await say('And quickly')).toBe('success')
    expect(chat.heard()).toEqual(['Pick', '', 'red', 'And quickly'])
    expect(chat.model.requests).toHaveLength(2)
  })
})
