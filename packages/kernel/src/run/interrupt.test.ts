import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentInput, Answers, EventDraft, Interrupt, Json, ResumeInfo, RunContext } from '../index.ts'
import { type KernelError, say } from '../index.ts'
import { notJson } from '../kit.ts'
import { runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, callOf, input, quiet, talker } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

/** Freezes the saved value, so that a change to it fails the test. */
function frozen(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}

const calling = (...ids: readonly string[]) => ({
  id: 'm',
  role: 'assistant' as const,
  content: 'calling',
  toolCalls: ids.map((id) => ({ id, name: 'slow', arguments: '{}' })),
})

describe('an interrupt', () => {
  /** Runs a call until it asks no more questions: each attempt answers only the first open one. */
  async function attempts(body: (call: RunContext) => Promise<string>, answer: (interrupt: Interrupt) => Json) {
    const answers: Record<string, Json> = {}
    const asked: string[][] = []
    const broken: unknown[] = []
    let saved: Json | undefined
    for (let attempt = 0; attempt < 10; attempt++) {
      const open = new Map<string, Interrupt>()
      let result = 'INTERRUPTED'
      const root = agentOf('root', async function* (ctx) {
        const carried = saved === undefined ? {} : { saved: frozen(JSON.parse(JSON.stringify(saved)) as Json) }
        const onInterrupt = (interrupts: readonly Interrupt[], state?: Json) => {
          for (const interrupt of interrupts) open.set(interrupt.id, interrupt)
          saved = state
          if (state !== undefined) broken.push(notJson(state))
        }
        const call = callOf(ctx, 0, { ...carried, answers: { ...answers }, onInterrupt })
        result = await body(call).catch((error: KernelError) => error.code)
        yield* say(ctx, result)
      })
      await startRun(root, input, { canInterrupt: true, runId: `R${attempt}` })
      asked.push([...open.keys()])
      expect(broken).toEqual(broken.map(() => undefined))
      const [first] = open.values()
      if (!first) return { asked, result }
      answers[first.id] = answer(first)
    }
    return expect.fail('asked for ever')
  }

  test('of some of many parallel nested runs repeats none that has finished, and keeps its ids', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), async (asking) => {
        const started = asking.map(() => 0)
        const finished = asking.map(() => 0)
        const agents = asking.map((asks, i) =>
          agentOf(`n${i}`, async function* (ctx) {
            started[i] = (started[i] ?? 0) + 1
            const word = asks ? await ctx.interrupt<string>({ reason: 'input', message: `${i}` }) : `quiet${i}`
            yield* say(ctx, word)
            finished[i] = (finished[i] ?? 0) + 1
          }),
        )
        const { asked, result } = await attempts(
          async (call) => {
            const results = await Promise.allSettled(agents.map((agent) => runNested(agent, input, call)))
            return results.map((settlement) => (settlement.status === 'fulfilled' ? settlement.value.text : '?')).join()
          },
          ({ message }) => `answer${message}`,
        )
        expect(result).toBe(asking.map((asks, i) => (asks ? `answer${i}` : `quiet${i}`)).join())
        expect(finished).toEqual(asking.map(() => 1))
        const questions = asking.filter(Boolean).length
        expect(asked.map((ids) => ids.length)).toEqual(Array.from({ length: questions + 1 }, (_, i) => questions - i))
        for (const [i, ids] of asked.entries()) expect(asked[0]).toEqual(expect.arrayContaining(i ? ids : []))
      }),
      { numRuns: 40 },
    )
  })

  test('comes out of three levels and goes back in through resume, with state and history', async () => {
    const infos: ResumeInfo[] = []
    const asker = agentOf('asker', async function* (ctx) {
      yield* say(ctx, 'not for the history of mid')
      const first = await ctx.interrupt<string>({ reason: 'input' })
      const second = await ctx.interrupt<string>({ reason: 'input' })
      yield* say(ctx, `${first}+${second}`)
    })
    async function* work(ctx: RunContext, answers: Answers, saved?: Json): AsyncGenerator<EventDraft> {
      const left: { interrupts: Interrupt[]; saved: Json } = { interrupts: [], saved: null }
      const onInterrupt = (interrupts: readonly Interrupt[], state: Json = null) => {
        left.interrupts.push(...interrupts)
        left.saved = state
      }
      const call = callOf(ctx, 0, { answers, onInterrupt, ...(saved !== undefined && { saved }) })
      const result = await runNested(asker, input, call).catch(() => undefined)
      if (result) yield* say(ctx, `mid ${result.text}`)
      else yield { type: 'action', action: { type: 'interrupt', interrupts: left.interrupts, state: left.saved } }
    }
    const mid: Agent = {
      ...agentOf('mid', async function* (ctx) {
        yield* say(ctx, 'thinking')
        yield* work(ctx, {})
      }),
      resume(info, ctx) {
        infos.push(info)
        return work(ctx, info.answers, info.state)
      },
    }
    const user = { id: 'u', role: 'user', content: 'go' } as const
    const { asked, result } = await attempts(
      async (call) => (await runNested(mid, { messages: [user] }, call)).text,
      ({ id }) => id,
    )
    expect(asked.map((ids) => ids.length)).toEqual([1, 1, 0])
    expect(result).toBe(`mid ${asked[0]}+${asked[1]}`)
    expect(infos.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['go', 'thinking'],
      ['go', 'thinking'],
    ])
  })

  test('of an agent without resume starts it over, with the answers there are, and leaves no listener', async () => {
    const asker = agentOf('asker', async function* (ctx) {
      const name = await ctx.interrupt<string>({ reason: 'input', message: 'name?' }).catch(() => 'nobody')
      const age = await ctx.interrupt<number>({ reason: 'input', message: 'age?' })
      yield* say(ctx, `${name} ${age}`)
    })
    const { signal } = new AbortController()
    const settings = { canInterrupt: true, signal }
    const { interrupts = [], ...first } = await startRun(asker, input, settings)
    const [name, age] = interrupts
    expect([first.outcome, age?.message]).toEqual(['interrupted', 'age?'])
    expect(name).toStrictEqual({
      id: expect.stringMatching(/^#./),
      agentName: 'asker',
      reason: 'input',
      message: 'name?',
    })
    const start = { ...input, state: null, answers: { [name?.id ?? '']: 'Ann' } }
    expect(await startRun(asker, start, settings)).toMatchObject({ outcome: 'interrupted', interrupts: [age] })
    const answers = { ...start.answers, [age?.id ?? '']: 7 }
    expect(await startRun(asker, { ...start, answers }, settings)).toMatchObject({ outcome: 'complete', text: 'Ann 7' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('that its nested agent swallowed still ends the call', async () => {
    const stubborn = agentOf('stubborn', async function* (ctx) {
      const word = await ctx.interrupt<string>({ reason: 'input' }).catch(() => 'whatever')
      yield* say(ctx, word)
    })
    const { asked, result } = await attempts(
      async (call) => (await runNested(stubborn, input, call)).text,
      () => 'answered',
    )
    expect([asked.length, result]).toEqual([2, 'answered'])
  })

  test('stands for a long-running call inside, and its answer becomes the result of that call', async () => {
    const inputs: AgentInput[] = []
    const patient = agentOf('patient', async function* (ctx, start) {
      inputs.push(start)
      const result = start.messages.find(({ role }) => role === 'tool')
      if (result) return yield* say(ctx, `got ${result.content}`)
      const toolCalls = [{ id: 'slow-1', name: 'slow', arguments: '{}' }]
      yield { type: 'message-end', message: { id: 'm', role: 'assistant', content: '', toolCalls } }
      yield { type: 'tool-start', callId: 'slow-1', name: 'slow', arguments: '{}' }
    })
    const reasons: string[] = []
    const { asked, result } = await attempts(
      async (call) => (await runNested(patient, input, call)).text,
      ({ reason }) => `${reasons.push(reason)} result`,
    )
    expect([asked, reasons, result]).toEqual([[['root-0/slow-1#result'], []], ['tool-result'], 'got 1 result'])
    expect(inputs[1]?.messages.map(({ role }) => role)).toEqual(['assistant', 'tool'])
  })

  test('stands for each of several open calls until it has its result; the agent runs when all are there', async () => {
    const inputs: AgentInput[] = []
    const patient: Agent = {
      ...agentOf('patient', async function* (ctx, start) {
        inputs.push(start)
        const results = start.messages.filter(({ role }) => role === 'tool')
        if (results.length > 0) return yield* say(ctx, results.map(({ content }) => content).join(' '))
        yield { type: 'message-end', message: calling('s1', 's2') }
        yield { type: 'action', action: { type: 'custom', name: 'no question' } }
      }),
      resume: () => expect.fail('it has asked nothing'),
    }
    const questions: Interrupt[] = []
    const options = { maxIterations: 3 }
    const { asked, result } = await attempts(
      async (call) => (await runNested(patient, { ...input, options }, call)).text,
      (interrupt) => (questions.push(interrupt) === 1 ? 'plain' : { n: 1 }),
    )
    expect(asked).toEqual([['root-0/s1#result', 'root-0/s2#result'], ['root-0/s2#result'], []])
    const question = { reason: 'tool-result', agentName: 'patient', callId: 'root-0', metadata: { tool: 'slow' } }
    expect(questions).toStrictEqual(['root-0/s1#result', 'root-0/s2#result'].map((id) => ({ id, ...question })))
    expect([result, inputs.map((start) => start.options)]).toEqual(['plain {"n":1}', [options, options]])
    expect(inputs[1]?.messages[1]).toEqual({
      id: 'root-0/s1#result',
      role: 'tool',
      callId: 's1',
      name: 'slow',
      content: 'plain',
    })
  })

  test('finds an open call in the history it began with and leaves it open', async () => {
    const { asked, result } = await attempts(
      async (call) => (await runNested(talker('fresh'), { messages: [calling('s1')] }, call)).text,
      () => null,
    )
    expect([asked, result]).toEqual([[[]], 'fresh'])
  })

  test('of a call inside is asked once, though the call has no result either, and shows no state', async () => {
    const question: Interrupt = { id: 's1#x', reason: 'approval', agentName: 'asker', callId: 's1' }
    const asker = agentOf('asker', async function* () {
      yield { type: 'message-end', message: calling('s1') }
      yield { type: 'action', action: { type: 'interrupt', interrupts: [question], state: 'for resume alone' } }
    })
    const asked: string[] = []
    const root = quiet('root', async (ctx) => {
      const onInterrupt = (interrupts: readonly Interrupt[]) => void asked.push(...interrupts.map(({ id }) => id))
      await runNested(asker, input, callOf(ctx, 0, { onInterrupt })).catch(() => undefined)
    })
    const events = await collect(startRun(root, input, { canInterrupt: true }))
    expect(asked).toEqual(['s1#x'])
    const actions = events.flatMap((event) => (event.type === 'action' ? [event.action] : []))
    expect(actions).toStrictEqual([{ type: 'interrupt', interrupts: [question] }])
  })

  test('gives an agent back its history with results and without what was dropped, its options and its answers', async () => {
    const infos: ResumeInfo[] = []
    const end = { type: 'tool-end', messageId: 't', name: 'slow', content: 'done' } as const
    const dropped = { id: 'x', role: 'assistant', content: 'dropped' } as const
    const agent: Agent = {
      ...agentOf('a', async function* () {
        yield { type: 'message-end', message: calling('s1', 's2') }
        yield { ...end, callId: 's1', status: 'failed', error: { code: 'TOOL_FAILED', message: 'no' } }
        yield { ...end, callId: 's2', status: 'dropped' }
        yield { type: 'message-end', message: dropped, dropped: true }
        const interrupts = [{ id: 'q', reason: 'input', agentName: 'a' }]
        yield { type: 'action', action: { type: 'interrupt', interrupts, state: { at: 1 } } }
      }),
      resume(info, ctx) {
        infos.push(info)
        return say(ctx, 'resumed')
      },
    }
    const options = { maxIterations: 3 }
    const { asked, result } = await attempts(
      async (call) => (await runNested(agent, { ...input, options }, call)).text,
      () => 'yes',
    )
    expect([asked, result]).toEqual([[['q'], []], 'resumed'])
    expect(infos).toMatchObject([{ options, state: { at: 1 }, answers: { q: 'yes' } }])
    expect(infos[0]?.messages).toMatchObject([
      { role: 'assistant', content: 'calling' },
      { role: 'tool', callId: 's1', error: { code: 'TOOL_FAILED' } },
    ])
    expect(infos[0]?.messages).toHaveLength(2)
  })

  test('waits for all nested runs beside it, each time, so that none is repeated but those that failed', async () => {
    const runs: Record<string, number> = {}
    const counted = (name: string, work: (ctx: RunContext) => Promise<unknown>) =>
      quiet(name, async (ctx) => {
        runs[name] = (runs[name] ?? 0) + 1
        await work(ctx)
      })
    const slow = (name: string, turns: number) =>
      counted(name, async () => {
        for (let i = 0; i < turns; i++) await idle()
      })
    const ask = (name: string) => counted(name, (ctx) => ctx.interrupt({ reason: 'input' }))
    const broken = counted('broken', () => Promise.reject(new Error('broken')))
    const { asked, result } = await attempts(
      async (call) => {
        const all = (...agents: readonly Agent[]) =>
          Promise.allSettled(agents.map((agent) => runNested(agent, input, call)))
        await all(ask('first'), slow('a', 1), slow('b', 2), broken)
        await all(ask('second'), slow('c', 1), slow('d', 2))
        return 'done'
      },
      () => 'yes',
    )
    expect([asked.map((ids) => ids.length), result]).toEqual([[2, 1, 0], 'done'])
    expect(runs).toEqual({ first: 2, a: 1, b: 1, broken: 3, second: 3, c: 1, d: 1 })
  })
})

test('an interrupt action without a question leaves its agent complete: it only says where results are awaited', async () => {
  const waiting = agentOf('waiting', async function* () {
    yield { type: 'message-start', messageId: 'm' }
    yield { type: 'message-end', message: calling('c1') }
    yield { type: 'action', action: { type: 'interrupt', interrupts: [], state: { at: 1 } } }
  })
  expect(await startRun(waiting, input, { canInterrupt: true })).toMatchObject({
    outcome: 'complete',
    openCallIds: ['c1'],
  })
})
