import { type AgentEvent, type AgentHandler, KernelError, withBeforeModelRewriteHistory } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  expectSound,
  hello,
  idle,
  noUnhandledRejection,
  runAgent,
  timed,
  tool,
} from '../chat-model.fixture.ts'
import { backoff, chatModelAgent } from '../index.ts'

beforeEach(noUnhandledRejection)

const busy = (details = {}) => new KernelError('MODEL_FAILED', 'm: busy', { retryable: true, details })
const refused = new KernelError('MODEL_FAILED', 'm: bad request')
const failing = (error: unknown = busy(), at: 'before' | 'mid' | 'after' = 'before') => ({
  text: ['Half ', 'an answer'],
  error: { at, error },
})

const through: AgentHandler = { name: 'through', wrapModelCall: (ctx, request, next) => next(ctx, request) }

/** The answer as a reader shows it: the text of messages that were not dropped. */
function shown(events: readonly AgentEvent[]): string {
  const dropped = new Set(
    events.flatMap((event) => (event.type === 'message-end' && event.dropped ? [event.message.id] : [])),
  )
  return events
    .flatMap((event) => (event.type === 'text-delta' && !dropped.has(event.messageId) ? [event.delta] : []))
    .join('')
}

describe('backoff', () => {
  test('waits twice as long after each attempt, between half and all of it, until the attempts are used up', () => {
    const longest = backoff({ attempts: 4, firstMs: 100, random: () => 1 })
    const shortest = backoff({ attempts: 4, firstMs: 100, random: () => 0 })
    expect([1, 2, 3, 4].map((attempt) => longest(busy(), attempt))).toEqual([100, 200, 400, undefined])
    expect([1, 2, 3, 4].map((attempt) => shortest(busy(), attempt))).toEqual([50, 100, 200, undefined])
  })

  test('three attempts and half a second by default', () => {
    const policy = backoff({ random: () => 1 })
    expect([1, 2, 3].map((attempt) => policy(busy(), attempt))).toEqual([500, 1_000, undefined])
  })

  test('no pause is longer than longestMs', () => {
    expect(backoff({ attempts: 100, longestMs: 2_000, random: () => 1 })(busy(), 90)).toBe(2_000)
  })

  test('retry-after is honoured: the pause is not shorter', () => {
    const policy = backoff({ random: () => 0 })
    expect(policy(busy({ retryAfterMs: 7_000 }), 1)).toBeGreaterThanOrEqual(7_000)
    expect(policy(busy({ retryAfterMs: 90_000 }), 1) ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(90_000)
  })

  test('what is not retryable is not retried', () => {
    expect(backoff()(refused, 1)).toBeUndefined()
  })
})

describe('retry', () => {
  test('a failed call is tried again after the pause, by the clock of the run', async () => {
    const { pass, running, clock } = timed([failing(), 'Hi.'], { retry: backoff({ firstMs: 100, random: () => 1 }) })
    expect(await pass(99)).toBe(1)
    expect(await pass(1)).toBe(2)
    expect([(await running).end?.text, clock.pending]).toEqual(['Hi.', 0])
  })

  test('a call that fails for good says how often it was tried', async () => {
    const { errors } = await runAgent([failing(), failing()], { retry: (_, attempt) => (attempt < 2 ? 0 : undefined) })
    const message = expect.stringMatching(/^gave up after 2 attempts, /)
    expect(errors).toMatchObject([{ message, details: { attempts: 2 } }])
    const { errors: once } = await runAgent([failing()], { retry: false })
    expect(once[0]?.message).not.toContain('gave up')
  })

  test('a policy that throws is CONFIG_INVALID, says so and keeps both errors', async () => {
    const cause = new Error('no idea')
    const retry = () => {
      throw cause
    }
    const { errors } = await runAgent([failing(), 'Never.'], { retry, handlers: [through] })
    expect(errors).toMatchObject([
      {
        code: 'CONFIG_INVALID',
        message: 'retry policy: threw, no idea',
        details: { failure: { code: 'MODEL_FAILED', message: 'm: busy' } },
      },
    ])
    const agent = chatModelAgent({ name: 'a', model: scriptedModel([failing()]), retry })
    await expect(startRun(agent, hello)).rejects.toMatchObject({ cause })
  })

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '100', null, Promise.resolve(1)])(
    'a policy that gives %s is CONFIG_INVALID, and nothing is tried again',
    async (pause) => {
      const { errors, requests } = await runAgent([failing(), 'Never.'], { retry: () => pause as never })
      expect(errors).toMatchObject([
        { code: 'CONFIG_INVALID', message: expect.stringMatching(/^retry policy: expected/) },
      ])
      expect(requests).toHaveLength(1)
    },
  )

  test('retry-after decides how long', async () => {
    const { pass, running } = timed([failing(busy({ retryAfterMs: 9_000 })), 'Hi.'])
    expect(await pass(8_999)).toBe(1)
    await pass(5_000)
    expect((await running).end?.text).toBe('Hi.')
  })

  test('the policy is injectable and gets error and attempt', async () => {
    const seen: unknown[] = []
    const retry = (error: KernelError, attempt: number) => {
      seen.push([error.message, attempt])
      return attempt < 3 ? 0 : undefined
    }
    const { pass, running } = timed([failing(), failing(), failing(), 'Never.'], { retry })
    for (let i = 0; i < 4; i++) await pass(0)
    const { errors } = await running
    expect(seen).toEqual([1, 2, 3].map((attempt) => ['m: busy', attempt]))
    expect(errors).toMatchObject([{ code: 'MODEL_FAILED', message: expect.stringContaining('busy') }])
  })

  test.each([
    ['what is not retryable', [failing(refused), 'Never.'], {}],
    ['anything when retry is false', [failing(), 'Never.'], { retry: false }],
  ] as const)('is not for %s', async (_, turns, options) => {
    const { end, requests } = await runAgent(turns, options)
    expect([end?.outcome, end?.error?.code, requests.length]).toEqual(['failed', 'MODEL_FAILED', 1])
  })

  test('every attempt gets the same request, and hooks run once', async () => {
    let hooks = 0
    const model = scriptedModel([failing(), 'Hi.'])
    await runAgent([], { model, retry: () => 0, handlers: [withBeforeModelRewriteHistory(() => void hooks++)] })
    expect([hooks, model.requests[1]]).toEqual([1, model.requests[0]])
  })

  test('wrapModelCall wraps one model call with its retries', async () => {
    let calls = 0
    const parts: string[] = []
    await runAgent([failing(busy(), 'mid'), 'Hi.'], {
      retry: () => 0,
      handlers: [
        {
          name: 'w',
          async *wrapModelCall(ctx, request, next) {
            calls++
            for await (const part of next(ctx, request)) {
              parts.push(part.type)
              yield part
            }
          },
        },
      ],
    })
    expect(calls).toBe(1)
    expect(parts).toEqual(['text-delta', 'restart', 'text-delta', 'finish'])
  })

  test.each(['mid', 'after'] as const)(
    'the text of an attempt that failed %s is not part of the answer',
    async (at) => {
      const finished = await runAgent([failing(busy(), at), 'Hi.'], { retry: () => 0 })
      expect([shown(finished.events), finished.end?.text, brief(finished.history)]).toEqual([
        'Hi.',
        'Hi.',
        ['user Hello', 'assistant Hi.'],
      ])
      expectSound(finished)
      expect(finished.events.filter((event) => event.type === 'message-end' && event.dropped)).toHaveLength(1)
    },
  )

  test('tool calls of a failed attempt are not run', async () => {
    const ran: string[] = []
    const tools = ['lost', 'kept'].map((name) => tool(name, () => `${ran.push(name)}`))
    const lost = { ...(calling('lost') as object), error: { at: 'after', error: busy() } } as const
    const finished = await runAgent([lost, calling('kept'), 'Done.'], { tools, retry: () => 0 })
    expect([ran, finished.end?.text]).toEqual([['kept'], 'Done.'])
    expectSound(finished)
  })

  test('a pause ends at once when the run is aborted', async () => {
    const controller = new AbortController()
    const clock = fakeClock()
    const model = scriptedModel([failing(), 'Never.'])
    const running = runAgent([], { model }, hello, { clock, signal: controller.signal })
    await idle()
    controller.abort()
    expect([(await running).end?.outcome, clock.pending, model.requests.length]).toEqual(['cancelled', 0, 1])
  })
})

describe('failover', () => {
  test('the next model is asked when the one before has failed for good', async () => {
    const first = scriptedModel([failing(busy(), 'mid'), failing(refused, 'mid')], { name: 'first' })
    const second = scriptedModel([failing(refused)], { name: 'second' })
    const third = scriptedModel(['From the third.'], { name: 'third' })
    const finished = await runAgent([], {
      model: first,
      fallbacks: [second, third],
      retry: ({ retryable }) => (retryable ? 0 : undefined),
    })
    expect([first, second, third].map(({ requests }) => requests.length)).toEqual([2, 1, 1])
    expect([finished.end?.text, shown(finished.events)]).toEqual(['From the third.', 'From the third.'])
    expectSound(finished)
  })

  test('when all have failed, so has the run', async () => {
    const fallbacks = [scriptedModel([failing(new KernelError('MODEL_FAILED', 'second: down'))])]
    const finished = await runAgent([failing(refused, 'mid')], { fallbacks, retry: false })
    expect(finished.errors).toMatchObject([{ code: 'MODEL_FAILED' }])
    expectSound(finished)
  })

  test('the next turn asks the first model again', async () => {
    const second = scriptedModel([calling('t')])
    const first = scriptedModel([failing(refused), 'Back.'])
    const { end } = await runAgent([], { model: first, fallbacks: [second], tools: [tool('t')] })
    expect([end?.text, second.requests.length]).toEqual(['Back.', 1])
  })
})
