import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { agentTool, parallel, runner } from '@troupe/flow'
import {
  type AgentEvent,
  defineTool,
  KernelError,
  type Message,
  textOf,
  withInstruction,
  withTools,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { memoryStore } from '@troupe/kernel/memory-store'
import { startRun } from '@troupe/kernel/run'
import { messageLifecycle } from '@troupe/persistence'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, asked, factKeeper, messagesOf, sizedModel, talk } from './talk.fixture.ts'

const session = { session: ANN }
const LONG = 'x'.repeat(400)

/** The texts of a request, in short. */
function shown(messages: readonly Message[] = []): readonly string[] {
  return messages.map(({ role, content }) => `${role} ${textOf(content).split(' x')[0]}`)
}

const parrot = () => sizedModel((request) => `heard ${asked(request).slice(6, 12)} ${LONG}`)

describe('a history that is too large', () => {
  it('is summarised before the next call, and the newest messages stay', async () => {
    const [model, small] = [parrot(), factKeeper()]
    const desk = talk(model, [compaction({ model: small, maxTokens: 600, keepTokens: 150 })])
    for (const n of [1, 2, 3, 4]) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    expect(small.requests).toHaveLength(1)
    const [summary, ...rest] = model.requests.at(-1)?.messages ?? []
    expect(textOf(summary?.content ?? '')).toContain('## Facts\n- fact 1')
    expect(shown(rest).map((line) => line.slice(0, 18))).toEqual(['user FACT: fact 4\n'])
  })

  it('lets the next run begin with its summary, in another process too, which loads the thread from there', async () => {
    const store = memoryStore()
    let read = 0
    const counting = {
      ...store,
      threads: {
        ...store.threads,
        async messages(...args: Parameters<typeof store.threads.messages>) {
          const rows = await store.threads.messages(...args)
          read += rows.length
          return rows
        },
      },
    }
    const make = () => {
      const [model, small] = [parrot(), factKeeper()]
      const handler = compaction({ model: small, maxTokens: 400, keepTokens: 150 })
      return { model, small, desk: talk(model, [handler], { store: counting, history: { from: compactedFrom } }) }
    }
    const before = make()
    for (let n = 1; n <= 60; n++) await before.desk.query(`FACT: fact ${n}\n${LONG}`, session)
    expect(before.small.requests.length).toBeGreaterThan(5)
    const stored = (await store.threads.get(ANN)) as NonNullable<Awaited<ReturnType<typeof store.threads.get>>>
    const cut = compactedFrom(stored)
    read = 0
    const after = make()
    await after.desk.query('And now?', session)
    // The first page is enough.
    expect(read).toBe(100)
    expect(await messagesOf(store)).toHaveLength(122)
    const [summary, ...rest] = after.model.requests[0]?.messages ?? []
    expect(textOf(summary?.content ?? '')).toContain('- fact 57')
    expect(rest[0]?.id === cut || after.small.requests.length === 1).toBe(true)
  })

  it('is not summarised twice: the next summary gets the former one and what came since', async () => {
    const [model, small] = [parrot(), factKeeper()]
    const desk = talk(model, [compaction({ model: small, maxTokens: 400, keepTokens: 150 })])
    for (let n = 1; n <= 8; n++) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    const inputs = small.requests.map(asked)
    expect(inputs.length).toBeGreaterThan(2)
    for (let n = 1; n <= 6; n++) {
      const asMessage = inputs.filter((input) => input.includes(`FACT: fact ${n}\n`))
      expect(asMessage.length).toBeLessThanOrEqual(1)
    }
    expect(inputs.at(-1)).toMatch(/Summary so far:\n\n## Facts\n- \[1\] fact 1\n/)
  })

  it('never parts a call from its result, and keeps the request that a long run works on', async () => {
    const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })
    const small = factKeeper()
    const model = sizedModel((_, call) =>
      call < 12
        ? {
            toolCalls: [
              { id: `a${call}`, name: 'look' },
              { id: `b${call}`, name: 'look' },
            ],
          }
        : 'Done.',
    )
    const desk = talk(model, [compaction({ model: small, maxTokens: 900, keepTokens: 300 })], { tools: [look] })
    await desk.query('Look around, please.', session)
    expect(small.requests.length).toBeGreaterThan(1)
    for (const { messages } of model.requests) expect(repairHistory(messages)).toBe(messages)
    const [summary] = model.requests.at(-1)?.messages ?? []
    expect(textOf(summary?.content ?? '')).toMatch(/works? on:\nLook around, please\.$/)
  })

  it('that the model refuses is compacted and sent once more', async () => {
    const small = factKeeper()
    const refusing = scriptedModel(
      [
        ({ messages }) =>
          messages.length > 4
            ? { error: { at: 'before', error: new KernelError('MODEL_CONTEXT_EXCEEDED', 'model: too long') } }
            : `heard ${messages.length}`,
      ],
      { repeat: true },
    )
    const desk = talk(refusing, [compaction({ model: small, maxTokens: 1_000, keepTokens: 10 })])
    await desk.query('one', session)
    await desk.query('two', session)
    expect((await desk.query('FACT: three', session)).text).toBe('heard 2')
    expect((await desk.query('four', session)).text).toBe('heard 4')
    expect(small.requests).toHaveLength(1)
  })

  it('stays as it is if no summary can be written, and the run goes on', async () => {
    const broken = scriptedModel([{ error: { at: 'before', error: new Error('no') } }], { repeat: true })
    const model = parrot()
    const desk = talk(model, [compaction({ model: broken, maxTokens: 100, keepTokens: 10 })])
    await desk.query(`one ${LONG}`, session)
    const events: AgentEvent[] = []
    for await (const event of desk.query('two', session)) events.push(event)
    expect(model.requests.at(-1)?.messages).toHaveLength(3)
    const [failed] = events.filter((event) => event.type === 'custom')
    expect(failed).toMatchObject({ name: 'compaction-failed', data: { error: { code: 'MODEL_FAILED' } } })
  })

  it('ends with the run if it is aborted while the summary is written', async () => {
    const hanging = scriptedModel([{ hang: 'before' }])
    const desk = talk(parrot(), [compaction({ model: hanging, maxTokens: 100, keepTokens: 10 })])
    await desk.query(`one ${LONG}`, session)
    const controller = new AbortController()
    const running = desk.query('two', { ...session, signal: controller.signal })
    const outcome = (async () => {
      for await (const event of running.eventsWithoutThrowing()) {
        if (event.type === 'agent-start') controller.abort()
        if (event.type === 'run-end') return event.outcome
      }
      return undefined
    })()
    expect(await outcome).toBe('cancelled')
  })
})

describe('the summary of a thread', () => {
  const compacting = () => compaction({ model: factKeeper(), maxTokens: 400, keepTokens: 150 })

  it('is that of the moment in a branch', async () => {
    const store = memoryStore()
    const desk = talk(parrot(), [compacting()], { store })
    for (let n = 1; n <= 8; n++) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    const first = (await messagesOf(store))[1]?.id ?? ''
    const early = await store.threads.fork(ANN, { at: first, to: 'early' })
    expect(early.state).not.toHaveProperty('context:summary')
    const last = (await messagesOf(store)).at(-1)?.id ?? ''
    const late = await store.threads.fork(ANN, { at: last, to: 'late' })
    expect(late.state).toEqual((await store.threads.get(ANN))?.state)
  })

  it.each([['nonsense'], [{ format: 1, cut: 'm', summary: { goal: 1 } }], [{ format: 1, cut: '', summary: null }]])(
    'counts as none if a client has written %j',
    async (value) => {
      const model = parrot()
      const desk = talk(model, [compacting()])
      await desk.run(
        { messages: [{ role: 'user', content: 'one' }], state: { set: { 'context:summary': value } } },
        session,
      )
      expect(model.requests[0]?.messages).toHaveLength(1)
    },
  )

  it('keeps the words of the system messages at its head, and gives nobody a system message who writes the state', async () => {
    const model = parrot()
    const desk = talk(model, [compacting()])
    const say = (content: string, ...before: Message[]) =>
      desk.run({ messages: [...before, { role: 'user', content: `${content} ${LONG}` }] }, session)
    await say('one', { id: 's1', role: 'system', content: 'The user is Ann.' })
    for (const text of ['two', 'three', 'four', 'five', 'six', 'seven']) await say(text)
    const [summary, ...rest] = model.requests.at(-1)?.messages ?? []
    expect(summary).toMatchObject({ role: 'user' })
    expect(textOf(summary?.content ?? '')).toContain('## Notes of the application\nThe user is Ann.')
    expect(rest.every(({ role }) => role !== 'system')).toBe(true)
  })

  it('is not that of a nested run, and not that of one branch of a parallel workflow', async () => {
    const store = memoryStore()
    const make = (name: string, turns: number) => {
      const model = sizedModel((_, call) => (call % turns ? { toolCalls: [{ name: 'look' }] } : `done ${name}`))
      const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })
      const small = factKeeper()
      const handlers = [compaction({ model: small, maxTokens: 400, keepTokens: 100, store })]
      return { small, model, agent: chatModelAgent({ name, model, tools: [look], handlers }) }
    }
    const [left, right, inner] = [make('left', 9), make('right', 9), make('inner', 9)]
    const both = runner({ agent: parallel({ name: 'both', agents: [left.agent, right.agent] }), store })
    await both.query('Go.', session)
    expect(left.small.requests.length).toBeGreaterThan(0)
    expect(right.small.requests.length).toBeGreaterThan(0)
    const outer = chatModelAgent({
      name: 'outer',
      model: scriptedModel([{ toolCalls: [{ name: 'inner', arguments: { request: 'Go.' } }] }, 'Done.']),
      tools: [agentTool(inner.agent)],
    })
    await runner({ agent: outer, store }).query('Go on.', session)
    expect(inner.small.requests.length).toBeGreaterThan(0)
    expect((await store.threads.get(ANN))?.state).toEqual({})
    const offered = (side: typeof left) =>
      side.model.requests.map(({ tools }) => tools.some(({ name }) => name === 'read_history'))
    expect(new Set(offered(inner))).toEqual(new Set([false]))
    expect(offered(left).indexOf(true)).toBe(offered(left).lastIndexOf(false) + 1)
  })

  it('is seen by every branch of a parallel workflow, also where the thread is loaded from the cut', async () => {
    const store = memoryStore()
    const history = { from: compactedFrom }
    const desk = talk(parrot(), [compacting()], { store, history })
    for (let n = 1; n <= 6; n++) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    const models = [parrot(), parrot()] as const
    const agents = models.map((model, i) => chatModelAgent({ name: `guide ${i}`, model, handlers: [compacting()] }))
    await runner({ agent: parallel({ name: 'both', agents }), store, history }).query('And you?', session)
    for (const { requests } of models) expect(textOf(requests[0]?.messages[0]?.content ?? '')).toContain('- fact 1')
  })

  it('is not written in each turn for an agent whose instruction alone is too large', async () => {
    const small = factKeeper()
    const model = parrot()
    const handlers = [
      withInstruction('i'.repeat(8_000)),
      compaction({ model: small, maxTokens: 1_000, keepTokens: 800 }),
    ]
    const desk = talk(model, handlers)
    for (let n = 1; n <= 20; n++) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    expect(small.requests.length).toBeGreaterThan(5)
    expect(small.requests.length).toBeLessThan(20)
  })

  it('has a very long request without its middle', async () => {
    const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })
    const model = sizedModel((_, call) => (call < 9 ? { toolCalls: [{ name: 'look' }] } : 'Done.'))
    const small = factKeeper()
    const desk = talk(model, [compaction({ model: small, maxTokens: 2_000, keepTokens: 400 })], { tools: [look] })
    await desk.query(`Begin. ${'y'.repeat(20_000)} End.`, session)
    const [summary] = model.requests.at(-1)?.messages ?? []
    const text = textOf(summary?.content ?? '')
    expect(text).toMatch(/Begin\. y+\n\[…\]\ny+ End\.$/)
    expect(text.length).toBeLessThan(2_000)
  })

  it('is a model call of its own in the records, with its tokens', async () => {
    const store = memoryStore()
    const usage = { inputTokens: 400, outputTokens: 7 }
    const small = scriptedModel([{ text: '## Facts\n- one', usage }], { name: 'small' })
    await using messages = messageLifecycle({ store })
    const handlers = [compaction({ model: small, maxTokens: 100, keepTokens: 50 })]
    const desk = talk(parrot(), handlers, { store, callbacks: [messages] })
    for (const n of [1, 2]) await desk.query(`FACT: fact ${n}\n${LONG}`, { ...session, runId: `R${n}` })
    await messages.flush(ANN)
    const calls = await store.records.modelCalls(ANN, 'R2')
    expect(calls.map(({ model }) => model)).toEqual(['small', 'scripted'])
    expect(calls[0]?.usage).toEqual(usage)
    expect(new Set(calls.map(({ spanId }) => spanId)).size).toBe(2)
  })

  it('needs no store: a run alone is compacted too', async () => {
    const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })
    const model = sizedModel((_, call) => (call < 9 ? { toolCalls: [{ name: 'look' }] } : 'Done.'))
    const small = factKeeper()
    const handlers = [withTools(look), compaction({ model: small, maxTokens: 400, keepTokens: 100 })]
    await startRun(chatModelAgent({ name: 'guide', model, handlers }), 'Go.')
    expect(small.requests.length).toBeGreaterThan(0)
    expect(model.requests.at(-1)?.messages[0]?.id).toMatch(/^summary:/)
  })
})
