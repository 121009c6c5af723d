import {
  type AgentHandler,
  type Callback,
  JOURNAL,
  type Journal,
  KernelError,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  calling,
  conversation,
  expectSound,
  finishedRun,
  hello,
  idle,
  never,
  noUnhandledRejection,
  type Options,
  runAgent,
  timed,
  tool,
} from '../chat-model.fixture.ts'
import { backoff, chatModelAgent, type RetryPolicy } from '../index.ts'

beforeEach(noUnhandledRejection)

const busy = (details = {}) => new KernelError('BUSY', 't: busy', { retryable: true, details })
const pure = { effect: 'pure' } as const
const atOnce: RetryPolicy = (error, attempt) => (error.retryable && attempt < 3 ? 0 : undefined)
const anything: RetryPolicy = (_, attempt) => (attempt < 3 ? 0 : undefined)

/** A tool whose first calls fail, and the inputs of its calls. */
function failing(times: number, more: Partial<Omit<Tool, 'name' | 'invoke'>> = pure, error: () => unknown = busy) {
  const calls: ToolCallInput[] = []
  const t = tool(
    't',
    (_, __, call) => {
      if (calls.push(call) <= times) throw error()
      return `worked at ${calls.length}`
    },
    more,
  )
  return { t, calls }
}

/** A callback that keeps the results of tool calls. */
function watching() {
  const results: ToolCallResult[] = []
  const onEnd = (_: unknown, result: ToolCallResult) => void results.push(result)
  const callback: Callback = { name: 'watch', tool: { onEnd } }
  return { results, callbacks: [callback] }
}

const once = async (t: Tool, options: Options = {}, turns = [calling('t'), 'Done.']) => {
  const { results, callbacks } = watching()
  const run = await runAgent(turns, { tools: [t], toolRetry: atOnce, ...options }, hello, { callbacks })
  expectSound(run)
  return { run, results, end: run.toolEnds[0] }
}

describe('a tool that fails with a retryable error', () => {
  test.each(['pure', 'idempotent'] as const)('is called again if it is %s, with the same key', async (effect) => {
    const { t, calls } = failing(2, { effect })
    const { end, results, run } = await once(t)
    expect(end).toMatchObject({ status: 'complete', content: 'worked at 3' })
    expect(results).toEqual([{ content: 'worked at 3', attempts: 3 }])
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    expect([run.started, run.end?.text]).toEqual([['t'], 'Done.'])
  })

  test.each([
    ['once', { effect: 'once' }] as const,
    ['nested', { effect: 'nested' }] as const,
    ['unsaid', {}] as const,
  ])('is called once if its effect is %s', async (_, effect) => {
    const { t, calls } = failing(1, effect)
    const { end, results } = await once(t, { toolRetry: anything })
    expect([calls.length, end?.status, end?.error?.code]).toEqual([1, 'failed', 'BUSY'])
    expect(results[0]).not.toHaveProperty('attempts')
  })

  test('waits between its attempts as a model does, by default', async () => {
    const { t, calls } = failing(2)
    const { running, pass, clock } = timed([calling('t'), 'Done.'], { tools: [t] })
    await pass(0)
    expect(calls).toHaveLength(1)
    await pass(249)
    expect(calls).toHaveLength(1)
    await pass(251)
    expect(calls).toHaveLength(2)
    await pass(1_000)
    expect(calls).toHaveLength(3)
    expect([(await running).end?.text, clock.pending]).toEqual(['Done.', 0])
  })

  test('gives its last failure to the model when the attempts are used up', async () => {
    const { t, calls } = failing(9)
    const { end, results, run } = await once(t)
    expect([calls.length, end?.status, end?.content]).toEqual([3, 'failed', 'Error: gave up after 3 attempts, t: busy'])
    expect(results).toMatchObject([{ error: { code: 'BUSY' }, attempts: 3 }])
    expect(run.end?.text).toBe('Done.')
  })

  test('ends the run after its attempts if it says so', async () => {
    const { t, calls } = failing(9, { ...pure, onError: 'throw' })
    const { run } = await once(t)
    expect([calls.length, run.errors.map(({ code }) => code)]).toEqual([3, ['BUSY']])
  })

  test('is not called again with `toolRetry: false`', async () => {
    const { t, calls } = failing(1)
    await once(t, { toolRetry: false })
    expect(calls).toHaveLength(1)
  })

  test('waits as long as it asks for', async () => {
    const { t, calls } = failing(1, pure, () => busy({ retryAfterMs: 7_000 }))
    const { running, pass } = timed([calling('t'), 'Done.'], { tools: [t] })
    await pass(6_999)
    expect(calls).toHaveLength(1)
    await pass(1)
    expect((await running).toolEnds[0]?.status).toBe('complete')
  })

  test('has its own time limit at each attempt', async () => {
    const signals: AbortSignal[] = []
    const slow = tool(
      't',
      (_, ctx) => {
        signals.push(ctx.signal)
        return signals.length < 3 ? never : 'at last'
      },
      pure,
    )
    const { running, pass, clock } = timed([calling('t'), 'Done.'], {
      tools: [slow],
      toolTimeoutMs: 50,
      toolRetry: atOnce,
    })
    await pass(50)
    await pass(0)
    await pass(50)
    await pass(0)
    const { toolEnds } = await running
    expect(toolEnds).toMatchObject([{ status: 'complete', content: 'at last' }])
    expect([signals.map(({ aborted }) => aborted), clock.pending]).toEqual([[true, true, false], 0])
  })

  test('does not hold up the calls beside it', async () => {
    const { t } = failing(1)
    const { running, pass } = timed([calling('t', 'u'), 'Done.'], { tools: [t, tool('u')] })
    await pass(500)
    const { toolEnds } = await running
    expect(toolEnds.map(({ callId, status }) => [callId, status])).toEqual([
      ['u', 'complete'],
      ['t', 'complete'],
    ])
  })
})

describe('which failures are retried', () => {
  test('is up to the policy, which sees the error and the number of attempts', async () => {
    const seen: [string, number][] = []
    const toolRetry: RetryPolicy = ({ code }, attempt) => {
      seen.push([code, attempt])
      return attempt < 2 ? 0 : undefined
    }
    const { t, calls } = failing(9, pure, () => new RangeError('plain'))
    await once(t, { toolRetry })
    expect([calls.length, seen]).toEqual([
      2,
      [
        ['TOOL_FAILED', 1],
        ['TOOL_FAILED', 2],
      ],
    ])
  })

  test('with backoff are those that are retryable, or those that `when` picks', async () => {
    const plain = () => new RangeError('plain')
    const { t, calls } = failing(1, pure, plain)
    await once(t, { toolRetry: backoff({ firstMs: 0 }) })
    expect(calls).toHaveLength(1)
    const other = failing(1, pure, plain)
    const { end } = await once(other.t, {
      toolRetry: backoff({ firstMs: 0, when: ({ code }) => code === 'TOOL_FAILED' }),
    })
    expect([other.calls.length, end?.status]).toEqual([2, 'complete'])
    expect(backoff({ when: () => false })(busy(), 1)).toBeUndefined()
  })

  test('are never those of the arguments, which the model has to correct', async () => {
    const { t, calls } = failing(0, { ...pure, parameters: { type: 'object', required: ['city'] } })
    const { end } = await once(t, { toolRetry: () => expect.fail('asked') })
    expect([calls.length, end?.error?.code]).toEqual([0, 'VALIDATION_FAILED'])
    const strict = failing(1, pure, () => new KernelError('VALIDATION_FAILED', 't: no such city', { retryable: true }))
    await once(strict.t, { toolRetry: anything })
    expect(strict.calls).toHaveLength(1)
  })

  test('are never those of an unknown tool', async () => {
    const { run } = await once(tool('other'), { toolRetry: () => expect.fail('asked') })
    expect(run.toolEnds[0]?.error?.code).toBe('TOOL_UNKNOWN')
  })

  test('are never questions: a call that asks runs again only with its answer', async () => {
    const calls: number[] = []
    const ask = tool(
      'ask',
      async (_, ctx) => {
        calls.push(calls.length)
        const answer = await ctx.interrupt({ reason: 'input' })
        if (calls.length < 3) throw busy()
        return `${answer}`
      },
      pure,
    )
    const talk = conversation([calling('ask'), 'Done.'], { tools: [ask], toolRetry: anything })
    const first = await talk.next()
    expect([first.end?.outcome, calls.length]).toEqual(['interrupted', 1])
    const second = await talk.next({ ask: 'yes' })
    expect([calls.length, second.toolEnds[0]?.error?.code]).toEqual([2, 'BUSY'])
  })

  test('are never those of a call that has sent an action: it would be sent twice', async () => {
    let calls = 0
    const acting = tool(
      't',
      (_, ctx) => {
        calls++
        ctx.sendAction({ type: 'custom', name: 'note', data: calls })
        throw busy()
      },
      { effect: 'idempotent' },
    )
    const { run } = await once(acting)
    expect([calls, run.events.filter(({ type }) => type === 'action')]).toMatchObject([1, [{ action: { data: 1 } }]])
  })

  test('are none once the run was asked to stop after its tools', async () => {
    let mode: 'after-tools' | undefined
    const { t, calls } = failing(9, pure, () => {
      mode = 'after-tools'
      return busy()
    })
    const run = await runAgent([calling('t')], { tools: [t], toolRetry: atOnce }, hello, { cancelling: () => mode })
    expect([calls.length, run.end?.outcome, run.toolEnds[0]?.status]).toEqual([1, 'cancelled', 'failed'])
  })
})

describe('an abort', () => {
  test('ends the pause before the next attempt, and no timer is left', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const { t, calls } = failing(9)
    const agent = chatModelAgent({ name: 'a', model: scriptedModel([calling('t')]), tools: [t] })
    const reading = record(startRun(agent, hello, { clock, signal: controller.signal }))
    await idle()
    expect([calls.length, clock.pending]).toEqual([1, 1])
    controller.abort()
    const run = finishedRun(await reading, hello)
    expect([run.end?.outcome, calls.length, clock.pending]).toEqual(['cancelled', 1, 0])
    expectSound(run)
  })

  test('in an attempt is not retried', async () => {
    const controller = new AbortController()
    let calls = 0
    const t = tool(
      't',
      () => {
        calls++
        controller.abort()
        throw busy()
      },
      pure,
    )
    const run = await runAgent([calling('t')], { tools: [t], toolRetry: anything }, hello, {
      signal: controller.signal,
    })
    expect([run.end?.outcome, calls]).toEqual(['cancelled', 1])
  })
})

describe('a tool that streams', () => {
  const streaming = (chunksBefore: number) => {
    let calls = 0
    const t = tool('t', undefined, {
      ...pure,
      async *stream() {
        calls++
        for (let i = 0; i < chunksBefore; i++) yield `${calls}.${i} `
        if (calls === 1) throw busy()
        yield 'whole'
      },
    })
    return { t, calls: () => calls }
  }

  test('is called again if it has shown nothing', async () => {
    const { t, calls } = streaming(0)
    const { end, results, run } = await once(t)
    expect([calls(), end?.content, results[0]?.attempts]).toEqual([2, 'whole', 2])
    expect(run.story.filter((line) => line.startsWith('tool-delta'))).toEqual(['tool-delta "whole"'])
  })

  test('is not called again once a chunk was shown', async () => {
    const { t, calls } = streaming(1)
    const { end } = await once(t)
    expect([calls(), end?.error?.code]).toEqual([1, 'BUSY'])
  })

  test('has its own time limit at each attempt', async () => {
    let calls = 0
    const t = tool('t', undefined, {
      ...pure,
      async *stream() {
        if (++calls === 1) await never
        yield 'whole'
      },
    })
    const { running, pass } = timed([calling('t'), 'Done.'], { tools: [t], toolTimeoutMs: 50, toolRetry: atOnce })
    await pass(50)
    await pass(0)
    expect((await running).toolEnds).toMatchObject([{ status: 'complete', content: 'whole' }])
  })
})

test('the attempts are inside the wraps: a handler sees one call and its last result', async () => {
  const seen: (ToolCallResult | string)[] = []
  const watch: AgentHandler = {
    name: 'watch',
    async wrapInvokableToolCall(ctx, input, next) {
      seen.push(input.callId)
      const result = await next(ctx, input)
      seen.push(result)
      return result
    },
  }
  const { t } = failing(1)
  await once(t, { handlers: [watch] })
  expect(seen).toEqual(['t', { content: 'worked at 2', attempts: 2 }])
})

test('a replayed run does not call the tool again, and has the attempts of the first', async () => {
  const kept = new Map<string, string>()
  const journal: Journal = {
    async perform(step, work) {
      if (!kept.has(step)) kept.set(step, JSON.stringify(await work()))
      return JSON.parse(kept.get(step) ?? 'null')
    },
  }
  const { t, calls } = failing(1)
  const { results, callbacks } = watching()
  for (let i = 0; i < 2; i++) {
    const prepare = (ctx: RunContext) => ctx.with(JOURNAL, journal)
    await runAgent([calling('t'), 'Done.'], { tools: [t], toolRetry: atOnce }, hello, { callbacks, prepare })
  }
  expect([calls.length, results]).toEqual([2, Array(2).fill({ content: 'worked at 2', attempts: 2 })])
})

test.each<[string, RetryPolicy]>([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['gives no number of milliseconds', () => -1],
])(
  'a policy that %s ends the run with CONFIG_INVALID, and the error says which failure it was asked about',
  async (_, toolRetry) => {
    const { t } = failing(9)
    const { run } = await once(t, { toolRetry })
    expect(run.errors).toMatchObject([{ code: 'CONFIG_INVALID', details: { failure: { code: 'BUSY' } } }])
  },
)

test('a policy that is not a function is refused', () => {
  const options = { name: 'a', model: scriptedModel([]), toolRetry: 3 as never }
  expect(() => chatModelAgent(options)).toThrow('agent a: toolRetry must be a policy or false, got 3')
})
