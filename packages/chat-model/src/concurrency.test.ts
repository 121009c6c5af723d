import { getEventListeners } from 'node:events'
import {
  type Agent,
  type AgentEvent,
  type AgentHandler,
  BaseAgentHandler,
  type CancelMode,
  type ChatModel,
  contextKey,
  defineTool,
  type InvokeTool,
  type ModelRequest,
  type RunContext,
  type ToolCallInput,
  type ToolCallResult,
  textOf,
  withBeforeAgent,
  withInstruction,
  withInstructionFunc,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { calling, hello, idle, noUnhandledRejection, runAgent, streaming, tool, user } from './chat-model.fixture.ts'
import { chatModelAgent } from './index.ts'

beforeEach(noUnhandledRejection)

/** Calls `echo` with what the user said, then repeats what came back; knows nothing of other calls. */
const parrot: ChatModel = {
  name: 'parrot',
  async *stream({ messages, instruction }: ModelRequest) {
    const last = messages.at(-1)
    const text = textOf(last?.content ?? '')
    await Promise.resolve()
    if (last?.role === 'tool') yield { type: 'text-delta', delta: `${instruction}|${text}` }
    else {
      yield { type: 'tool-call-start', callId: 'c', name: 'echo' }
      yield { type: 'tool-call-delta', callId: 'c', delta: JSON.stringify({ text }) }
      yield { type: 'tool-call-end', callId: 'c' }
    }
    yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
  },
}
const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
const numbers = Array.from({ length: 1_000 }, (_, n) => n)

/** The cache of the design document, safe: concurrent calls share one promise. */
class SafeCachingHandler extends BaseAgentHandler {
  readonly #cache = new Map<string, Promise<ToolCallResult>>()

  override wrapInvokableToolCall(ctx: RunContext, input: ToolCallInput, next: InvokeTool) {
    const key = `${input.name}:${input.arguments}`
    const cached = this.#cache.get(key) ?? next(ctx, input)
    this.#cache.set(key, cached)
    return cached
  }
}

describe('6.3 1,000 parallel runs that share one agent do not mix', () => {
  test('stateless handlers', async () => {
    const key = contextKey<string>('own')
    const echo = defineTool({
      name: 'echo',
      description: 'echo',
      parameters,
      async invoke({ text }, ctx) {
        await Promise.resolve()
        return `${text}=${ctx.get(key)}=${ctx.runId}`
      },
    })
    const agent = chatModelAgent({
      name: 'shared',
      model: parrot,
      tools: [echo],
      handlers: [
        withInstruction('Hi'),
        withBeforeAgent((ctx, { input }) => ctx.with(key, textOf(input.messages[0]?.content ?? ''))),
        withInstructionFunc((ctx, text) => `${text} ${ctx.get(key)}`),
      ],
    })
    const runs = await Promise.all(
      numbers.map((n) => record(startRun(agent, { messages: [user(`u${n}`)] }, { runId: `R${n}` }))),
    )
    expect(runs.map(({ end }) => end?.text)).toEqual(numbers.map((n) => `Hi u${n}|u${n}=u${n}=R${n}`))
    expect(runs.every(({ events }, n) => events.every(({ runId }) => runId === `R${n}`))).toBe(true)
    const ids = runs.flatMap(({ events }) =>
      events.flatMap((event) => (event.type === 'message-end' ? [event.message.id] : [])),
    )
    expect(new Set(ids).size).toBe(2_000)
    expect(new Set(runs.map(({ end }) => JSON.stringify(end?.usage))).size).toBe(1)
  })

  const cached = () => {
    let calls = 0
    const echo = defineTool({
      name: 'echo',
      description: 'echo',
      parameters,
      async invoke({ text }) {
        calls++
        await idle()
        return `echo ${text}`
      },
    })
    const agent = chatModelAgent({
      name: 'shared',
      model: parrot,
      tools: [echo],
      handlers: [new SafeCachingHandler('caching')],
    })
    return { agent, calls: () => calls }
  }
  const ask = (agent: Agent) =>
    Promise.all(numbers.map(async (n) => (await startRun(agent, { messages: [user(`u${n % 10}`)] })).text))

  test('a caching handler shared by all of them', async () => {
    const { agent, calls } = cached()
    expect(await ask(agent)).toEqual(numbers.map((n) => `|echo u${n % 10}`))
    expect(calls()).toBe(10)
  })

  test('a handler instance per agent: the caches are their own', async () => {
    const [first, second] = [cached(), cached()]
    await Promise.all([ask(first.agent), ask(second.agent)])
    expect([first.calls(), second.calls()]).toEqual([10, 10])
  })
})

describe('12: a run that is stopped at any event', () => {
  /** A run with tools of every kind, and a count of all that it has begun. */
  function stage() {
    const begun: string[] = []
    const model = scriptedModel([
      () => {
        begun.push('model')
        return { text: ['Let me ', 'look.'], ...(calling('quick', 's', 'waiting') as object) }
      },
      () => {
        begun.push('model')
        return { text: ['Do', 'ne.'] }
      },
    ])
    const waiting = tool('waiting', async (_, { signal }) => {
      begun.push('waiting')
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop)
      setImmediate(() => resolve('waited'))
      return promise.finally(() => signal.removeEventListener('abort', stop))
    })
    const s = streaming('s', [], {
      async *stream() {
        begun.push('s')
        yield 'one '
        await idle()
        yield 'two'
      },
    })
    const quick = tool('quick', () => `quick ${begun.push('quick')}`)
    const handler: AgentHandler = {
      name: 'h',
      beforeModelRewriteHistory: async () => undefined,
      afterModelRewriteHistory: async () => undefined,
      wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
    }
    const agent = chatModelAgent({
      name: 'a',
      model,
      tools: [quick, s, waiting],
      handlers: [handler],
      modelTimeoutMs: 1_000,
      toolTimeoutMs: 1_000,
      runTimeoutMs: 10_000,
    })
    const controller = new AbortController()
    const clock = fakeClock()
    const heard: AgentEvent[] = []
    let ctx: RunContext | undefined
    const run = startRun(agent, hello, {
      clock,
      signal: controller.signal,
      callbacks: [{ name: 'c', run: { onPart: (_, event) => void heard.push(event) } }],
      prepare: (made) => {
        ctx = made
        return made
      },
    })
    const left = () => ({
      ends: heard.filter(({ type }) => type === 'run-end').length,
      listeners: [controller.signal, ctx?.signal].map((signal) =>
        signal ? getEventListeners(signal, 'abort').length : 0,
      ),
      timers: clock.pending,
    })
    return { run, begun, controller, left, heard }
  }
  const CLEAN = { ends: 1, listeners: [0, 0], timers: 0 }

  async function length(): Promise<number> {
    const { events, end } = await record(stage().run)
    expect(end?.outcome).toBe('complete')
    return events.length
  }

  test('abort: nothing new starts, and nothing is left behind', async () => {
    const count = await length()
    for (let stop = 1; stop < count; stop++) {
      const { run, begun, controller, left, heard } = stage()
      let [seen, before, over] = [0, -1, false]
      for await (const { type } of run.eventsWithoutThrowing()) {
        if (++seen !== stop) continue
        before = begun.length
        over = type === 'agent-end'
        controller.abort()
      }
      await idle()
      expect([begun.length, left()], `abort at event ${stop}`).toEqual([before, CLEAN])
      expect(heard.at(-1)).toMatchObject({ type: 'run-end', outcome: over ? 'complete' : 'cancelled' })
    }
  })

  test('leave: nothing new starts, and nothing is left behind', async () => {
    const count = await length()
    for (let stop = 1; stop < count; stop++) {
      const { run, begun, left } = stage()
      let [seen, before] = [0, -1]
      for await (const _ of run) {
        if (++seen !== stop) continue
        before = begun.length
        break
      }
      await idle()
      expect([begun.length, left()], `left at event ${stop}`).toEqual([before, CLEAN])
    }
  })

  test('a run that is not stopped leaves nothing behind either', async () => {
    const { run, left } = stage()
    await run
    expect(left()).toEqual(CLEAN)
  })

  test('a reader who never comes back holds no tool open: no body runs before its tool-start was read', async () => {
    const { run, begun } = stage()
    const iterator = run[Symbol.asyncIterator]()
    const seen: string[] = []
    for (;;) {
      const { value, done } = await iterator.next()
      await idle()
      if (done || !value) break
      if (value.type === 'tool-start') seen.push(value.name)
      for (const name of begun.filter((one) => one !== 'model')) expect(seen).toContain(name)
    }
  })
})

describe('a soft cancel', () => {
  async function cancelled(mode: CancelMode, at: 'model' | 'tool') {
    let cancelling: CancelMode | undefined
    const ran: string[] = []
    const first = () => {
      if (at === 'model') cancelling = mode
      return calling('a', 'b')
    }
    const a = tool('a', () => {
      if (at === 'tool') cancelling = mode
      return `${ran.push('a')}`
    })
    const finished = await runAgent([first, 'Never.'], { tools: [a, tool('b', () => `${ran.push('b')}`)] }, hello, {
      cancelling: () => cancelling,
    })
    return { ...finished, ran: ran.toSorted() }
  }

  test('after-model: the answer is finished, its tools do not start', async () => {
    const { end, ran, requests, started, events } = await cancelled('after-model', 'model')
    expect([end?.outcome, ran, started, requests.length]).toEqual(['cancelled', [], [], 1])
    expect(events.filter((event) => event.type === 'message-end' && !event.dropped)).toHaveLength(1)
  })

  test('after-tools asked for in a model call: the tools finish, the model is not asked again', async () => {
    const { end, ran, requests, toolEnds } = await cancelled('after-tools', 'model')
    expect([end?.outcome, ran, toolEnds.length, requests.length]).toEqual(['cancelled', ['a', 'b'], 2, 1])
  })

  test.each(['after-model', 'after-tools'] as const)('%s asked for in a tool: its turn finishes', async (mode) => {
    const { end, ran, requests, toolEnds } = await cancelled(mode, 'tool')
    expect([end?.outcome, ran, toolEnds.length, requests.length]).toEqual(['cancelled', ['a', 'b'], 2, 1])
  })

  test('is a cancel, no failure: no error event, one terminal', async () => {
    const { errors, events } = await cancelled('after-tools', 'tool')
    expect([errors, events.filter(({ type }) => type === 'run-end').length]).toEqual([[], 1])
  })
})
