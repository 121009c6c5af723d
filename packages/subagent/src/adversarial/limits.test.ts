import { getEventListeners } from 'node:events'
import { KernelError } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { AgentExecutor, type AgentLimits, createPolicy, pauseLimits, type SubagentStatus } from '../index.ts'
import { agent, calling, completing, type LeadOptions, leadHarness } from '../lead.fixture.ts'
import { idle, noUnhandledRejection } from '../policy/policy.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

beforeEach(noUnhandledRejection)

type Script = Parameters<typeof scriptedModel>[0]
const look = calling({ name: 'look' })
const setting = (script: Script, limits: AgentLimits = {}, more: Partial<LeadOptions> = {}) =>
  leadHarness({
    agents: [agent('a', { tools: ['look'], limits })],
    tools: [tool('look')],
    scripts: { lead: [calling('a'), 'Done.'], a: script },
    ...more,
  })
const statusOf = async (...given: Parameters<typeof setting>): Promise<SubagentStatus> => {
  const { statuses, end } = await setting(...given).run()
  expect(end?.outcome).toBe('complete')
  return statuses[0] as SubagentStatus
}
const failing = (error: unknown) => ({ error: { at: 'before' as const, error } })
const stops = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('an error that only looks like a limit is not reported as one', () => {
  test.each<[string, unknown]>([
    ['a model that takes too long', new KernelError('TIMEOUT', 'the model took too long')],
    ['a model that counts iterations', new KernelError('MAX_ITERATIONS', 'mine')],
    ['a forged limit', new KernelError('SUBAGENT_LIMIT', 'mine', { details: { reason: 'max-tokens' } })],
    ['an abort of its own', new KernelError('ABORTED', 'the connection was closed')],
    ['an AbortError of its own', new DOMException('closed', 'AbortError')],
    ['a forged question', new KernelError('INTERRUPTED', 'mine')],
  ])('%s is an error, and the caller goes on', async (_, error) => {
    const s = setting([failing(error), completing()])
    const { statuses, end } = await s.run()
    expect([statuses, end?.outcome]).toMatchObject([[{ reason: 'error', recovered: false }], 'complete'])
    expect(s.models.a?.requests).toHaveLength(1)
  })

  test.each(['TIMEOUT', 'MAX_ITERATIONS', 'SUBAGENT_LIMIT', 'ABORTED'] as const)(
    'a tool that throws %s is a failed tool call, nothing else',
    async (code) => {
      const tools = [
        tool('look', {
          invoke() {
            throw new KernelError(code, 'mine')
          },
        }),
      ]
      expect(await statusOf([look, completing()], {}, { tools })).toMatchObject({ reason: 'goal', recovered: false })
    },
  )

  test('a limit of a child is not one of its caller', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b', { tools: ['look'], limits: { maxTurns: 1 } })],
      tools: [tool('look')],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing()], b: [look, 'Never.'] },
    })
    expect((await s.run()).statuses).toMatchObject([{ agent: 'a', reason: 'goal', recovered: false }])
  })
})

describe('a limit is reported as one', () => {
  test('a call too many beside handing in', async () => {
    const turn = calling({ name: 'look' }, { name: 'look' }, { name: 'complete_task', arguments: { result: 'Half.' } })
    expect(await statusOf([turn], { maxToolCalls: 1 })).toMatchObject({
      reason: 'max-tool-calls',
      recovered: true,
      output: 'Half.',
      toolCalls: 1,
    })
  })

  test('handing in beside a tool that runs out of time', async () => {
    const s = setting(
      [calling({ name: 'complete_task', arguments: { result: 'Early.' } }, { name: 'look' }), completing('Late.')],
      { timeoutMs: 100 },
      { tools: [tool('look', { invoke: (_, ctx) => stops(ctx.signal) })] },
    )
    const running = s.run()
    await idle()
    s.clock.advance(100)
    const { statuses } = await running
    expect(statuses).toMatchObject([{ reason: 'timeout', recovered: true }])
    expect(s.clock.pending).toBe(0)
  })

  test('tokens, of a model whose numbers are nonsense', async () => {
    const usage = { inputTokens: Number.NaN, outputTokens: -1_000 }
    const status = await statusOf(
      [
        { ...look, usage },
        { ...look, usage: { inputTokens: 10, outputTokens: 0 } },
        { ...completing(), usage },
      ],
      { maxTokens: 5 },
    )
    expect(status).toMatchObject({ reason: 'max-tokens' })
    expect(Object.values(status.usage).every((n) => Number.isFinite(n))).toBe(true)
  })

  test('a shared budget used by ten children at once allows no call above the limit, and each gets the reason', async () => {
    let looks = 0
    const calls = Array.from({ length: 10 }, (_, n) => ({ id: `b${n}`, name: 'b', arguments: { task: `${n}` } }))
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'look'], limits: { maxToolCalls: 14 } }), agent('b', { tools: ['look'] })],
      tools: [tool('look', { invoke: () => `${++looks}` })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling(...calls), completing('Half.')],
        b: Array(60).fill(() => look),
      },
      limits: { maxTurns: 4 },
    })
    const { statuses, events } = await s.run()
    expect(looks).toBeLessThanOrEqual(4)
    expect(statuses).toMatchObject([{ reason: 'max-tool-calls', recovered: true }])
    const children = events.flatMap((event) =>
      event.type === 'tool-end' && event.name === 'b' ? [(event.data as unknown as SubagentStatus).reason] : [],
    )
    expect(new Set(children)).toEqual(new Set(['max-tool-calls']))
    expect(children).toHaveLength(10)
  })

  test('depth, by an agent of another environment that calls itself', async () => {
    const loop = agent('b', { tools: ['b'], limits: { maxDepth: 2 } })
    const s = leadHarness({
      agents: [loop],
      scripts: { lead: [calling('b'), 'Done.'], b: [calling('b'), calling('b'), completing('2'), completing('1')] },
    })
    const { events, statuses } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal', output: '1' }])
    expect(
      events.flatMap((event) =>
        event.type === 'tool-end' && event.name === 'b' ? [(event.data as unknown as SubagentStatus).reason] : [],
      ),
    ).toEqual(['depth', 'goal', 'goal'])
  })
})

describe('time', () => {
  test('a limit of more than timers can count has not passed', async () => {
    const { end, statuses } = await setting(
      [look, completing()],
      { timeoutMs: 3_000_000_000, graceMs: 2 ** 40 },
      { tools: [tool('look', { invoke: () => new Promise((go) => setTimeout(() => go('slow'), 20)) })] },
    ).run({ clock: systemClock })
    expect([end?.outcome, statuses]).toMatchObject(['complete', [{ reason: 'goal' }]])
  })

  test('two calls that ask a person at once pause the clock until both have their answers', async () => {
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ask = tool('look', {
      async invoke(args, ctx) {
        const resume = pauseLimits(ctx)
        await answers[(args as { n: number }).n]?.promise
        resume()
        return 'ok'
      },
    })
    const s = setting(
      [
        calling({ name: 'look', arguments: { n: 0 } }, { name: 'look', arguments: { n: 1 } }),
        { hang: 'before' },
        completing(),
      ],
      { timeoutMs: 100 },
      { tools: [ask] },
    )
    const running = s.run()
    await idle()
    s.clock.advance(500)
    answers[0]?.resolve()
    await idle()
    s.clock.advance(500)
    answers[1]?.resolve()
    await idle()
    s.clock.advance(99)
    await idle()
    s.clock.advance(1)
    expect((await running).statuses).toMatchObject([{ reason: 'timeout', recovered: true, durationMs: 100 }])
    expect(s.clock.pending).toBe(0)
  })

  test('a pause that is never ended does not outlive its agent', async () => {
    const s = setting(
      [look, completing()],
      { timeoutMs: 100 },
      { tools: [tool('look', { invoke: (_, ctx) => `${pauseLimits(ctx)}` })] },
    )
    expect((await s.run()).statuses).toMatchObject([{ reason: 'goal' }])
    expect(s.clock.pending).toBe(0)
  })

  test('a question just before the time limit is not cut off', async () => {
    const policy = createPolicy()
    const s = setting(
      [calling({ id: 'w', name: 'look' }), completing()],
      { timeoutMs: 100 },
      { tools: [tool('look', { kind: 'write' })], guard: policy.guard },
    )
    const first = await s.run()
    expect(first.asked).toHaveLength(1)
    s.clock.advance(1_000_000)
    const second = await s.resume({ [first.asked[0] as string]: { approved: true } })
    expect(second.statuses).toMatchObject([{ reason: 'goal', durationMs: 0 }])
  })
})

describe('an abort', () => {
  test('after the limit, while the grace turn is under way, is an abort and no second grace turn', async () => {
    const controller = new AbortController()
    const s = setting([look, { hang: 'before' }, completing()], { maxTurns: 1 })
    const running = s.run({ signal: controller.signal })
    await idle()
    controller.abort()
    const { end } = await running
    expect([end?.outcome, s.models.a?.requests.length, s.clock.pending]).toEqual(['cancelled', 2, 0])
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test('from an AgentExecutor is the reason aborted, also if it was there before', async () => {
    const model = scriptedModel([completing()])
    const signal = AbortSignal.abort()
    const ctx = createRunContext({ signal }).derive({ call: { callId: 'c', onAction() {}, onInterrupt() {} } })
    const status = await new AgentExecutor(agent('a'), { factory: miniAgent, model }).run({ task: 't' }, ctx)
    expect([status.reason, status.recovered, model.requests.length]).toEqual(['aborted', false, 0])
  })

  test('in the very moment of the time limit is an abort', async () => {
    const controller = new AbortController()
    const s = setting([{ hang: 'before' }, completing()], { timeoutMs: 100 })
    const running = s.run({ signal: controller.signal })
    await idle()
    s.clock.advance(100)
    controller.abort()
    expect((await running).end?.outcome).toBe('cancelled')
    expect(s.clock.pending).toBe(0)
  })
})
