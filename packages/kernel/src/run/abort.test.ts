import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentEvent, RunContext } from '../index.ts'
import { KernelError, say } from '../index.ts'
import { openSpan, runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import {
  action,
  agentOf,
  CLEAN,
  callOf,
  countOf,
  fakeClock,
  getters,
  input,
  minefield,
  never,
  quiet,
  request,
  settled,
  talker,
  toolCall,
  toolStart,
  typesOf,
  watched,
} from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('an abort', () => {
  const walker = (at: (step: number, ctx: RunContext) => void) =>
    agentOf('a', async function* (ctx) {
      at(0, ctx)
      yield* say(ctx, 'one')
      at(1, ctx)
      await undefined
      at(2, ctx)
      await ctx.emit('note', 1)
      at(3, ctx)
      yield toolStart
      at(4, ctx)
      yield action
      at(5, ctx)
      yield* say(ctx, 'two')
    })
  const reasons: Record<string, unknown> = {
    'no reason': undefined,
    null: null,
    'a string': 'enough',
    'a foreign error': new RangeError('no'),
    'throwing getters': getters(),
    'a minefield': minefield(),
    ABORTED: new KernelError('ABORTED', 'test: stop'),
    TIMEOUT: new KernelError('TIMEOUT', 'test: slow'),
    TimeoutError: new DOMException('late', 'TimeoutError'),
    LEASE_LOST: new KernelError('LEASE_LOST', 'test: gone'),
  }
  const codes: Record<string, string> = { TIMEOUT: 'TIMEOUT', TimeoutError: 'TIMEOUT', LEASE_LOST: 'LEASE_LOST' }
  const listening = Object.keys(reasons).map((reason) => ['that listens', reason])
  const deaf = ['no reason', 'TIMEOUT', 'TimeoutError'].map((reason) => ['that is deaf', reason])

  test.each([...listening, ...deaf])(
    'of an agent %s with %s, at any await, ends the run once',
    async (kind, reason = '') => {
      const code = codes[reason] ?? 'ABORTED'
      const outcome = code === 'ABORTED' ? 'cancelled' : 'failed'
      for (let abortAt = -1; abortAt <= 5; abortAt++) {
        let reached = -1
        const agent = walker((step, ctx) => {
          reached = step
          if (step === abortAt) controller.abort(reasons[reason])
          if (kind === 'that listens') ctx.signal.throwIfAborted()
        })
        const { run, controller, parts, leftovers } = watched(agent)
        if (abortAt < 0) controller.abort(reasons[reason])
        const events = await collect(run)
        const why = `aborted at ${abortAt}`
        expect(events.at(-1), why).toMatchObject({ type: 'run-end', outcome, error: { code } })
        expect(countOf(typesOf(events), 'error'), why).toBe(outcome === 'failed' ? 1 : 0)
        expect([events, await settled(run), leftovers()], why).toEqual([parts, code, CLEAN])
        if (abortAt < 0) expect(reached, why).toBe(-1)
      }
    },
  )

  test.each(['before', 'while'])('%s a tool-start waits for its consumer lets no tool run', async (when) => {
    const effects: string[] = []
    const agent = agentOf('a', async function* () {
      if (when === 'before') controller.abort()
      yield toolStart
      effects.push('tool')
    })
    const { run, controller } = watched(agent)
    for await (const { type } of run.eventsWithoutThrowing()) {
      await idle()
      if (type === 'tool-start') controller.abort()
    }
    expect(effects).toEqual([])
  })

  test('of an agent that talks on and on comes through, however fast it is read', async () => {
    const agent = agentOf('a', async function* (ctx) {
      for (let i = 0; i < 1_000; i++) yield* say(ctx, 'again')
    })
    const { run, controller } = watched(agent)
    const events: AgentEvent[] = []
    for await (const event of run.eventsWithoutThrowing()) if (events.push(event) === 10) controller.abort()
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    expect(events.length).toBeLessThan(20)
  })

  test('after the end changes nothing', async () => {
    const { run, controller, leftovers } = watched(agentOf('a', (ctx) => say(ctx, 'done')))
    await collect(run)
    controller.abort(new KernelError('TIMEOUT', 'test: too late'))
    expect([await run, leftovers()]).toMatchObject([{ outcome: 'complete', text: 'done' }, CLEAN])
  })

  test.each<[unknown, string, string]>([
    [undefined, 'ABORTED', 'run: cancelled, This operation was aborted'],
    ['enough', 'ABORTED', 'run: cancelled'],
    [{ message: 7 }, 'ABORTED', 'run: cancelled'],
    [new RangeError('no'), 'ABORTED', 'run: cancelled, no'],
    [new DOMException('late', 'TimeoutError'), 'TIMEOUT', 'run: took too long, late'],
  ])('says why, and has its reason for a cause: %s', async (reason, code, message) => {
    const { run, controller } = watched(quiet('a', async () => controller.abort(reason)))
    const error: unknown = await run.then(undefined, (thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, message, cause: controller.signal.reason })
  })

  test('counts even if the agent ends in silence after it', async () => {
    const { run, controller, parts, leftovers } = watched(quiet('a', async () => controller.abort()))
    expect([await settled(run), leftovers()]).toEqual(['ABORTED', CLEAN])
    expect(parts.slice(-2)).toMatchObject([
      { type: 'agent-end', outcome: 'cancelled', error: { code: 'ABORTED' } },
      { type: 'run-end', outcome: 'cancelled', error: { code: 'ABORTED' } },
    ])
  })

  test('is seen by an agent that looks at its signal for the first time afterwards', async () => {
    const reason = new KernelError('TIMEOUT', 'test: slow')
    const seen: unknown[] = []
    const { run, controller } = watched(
      quiet('a', async (ctx) => {
        controller.abort(reason)
        seen.push(ctx.signal.aborted, ctx.signal.reason)
      }),
    )
    expect([await settled(run), seen]).toEqual(['TIMEOUT', [true, reason]])
  })

  test('does not happen at the end: a run that ended by itself has not aborted its signal', async () => {
    const signals: AbortSignal[] = []
    const agent = agentOf('a', async function* (ctx) {
      signals.push(ctx.signal)
      const call = callOf(ctx, 0)
      openSpan(call, 'tool', 't', toolCall(call, 'c'))?.end({ content: 'ok' })
      openSpan(ctx, 'model', 'm', request('model:0'))?.fail(new Error('model'))
      await runNested(talker('inner'), input, call)
      yield* say(ctx, 'done')
    })
    const heard = { onStart() {} }
    await startRun(agent, input, { callbacks: [{ name: 'heard', model: heard, tool: heard }] })
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  test.each(Object.keys(reasons))(
    'of a run that waits for a silent agent in vain, with %s, is the only error reported',
    async (reason) => {
      const { run, clock, controller, leftovers } = watched(quiet('a', () => never))
      const done = settled(run)
      await idle()
      controller.abort(reasons[reason])
      await clock.pass(1_000)
      expect([await done, leftovers()]).toEqual([codes[reason] ?? 'ABORTED', CLEAN])
    },
  )
})

describe('a limit of time', () => {
  test('fails the run with TIMEOUT, deaf or not, and leaves no timer', async () => {
    for (const deaf of [true, false]) {
      const clock = fakeClock()
      const waiting = quiet('a', (ctx) =>
        deaf
          ? never
          : new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      )
      const run = settled(startRun(waiting, input, { clock, timeoutMs: 5_000 }))
      await clock.pass(4_999)
      expect(clock.pending()).toBe(1)
      await clock.pass(1_001)
      expect([await run, clock.pending()]).toEqual(['TIMEOUT', 0])
    }
  })

  test('that is not reached leaves no timer', async () => {
    const clock = fakeClock()
    expect(await startRun(talker('a'), input, { clock, timeoutMs: 5_000 })).toMatchObject({ text: 'a' })
    expect(clock.pending()).toBe(0)
  })
})

test('throwIfAborted throws the error of the abort, of the run or of a narrower signal', async () => {
  const codes: unknown[] = []
  const thrownBy = (ctx: RunContext) => {
    try {
      ctx.throwIfAborted()
      return 'nothing'
    } catch (error) {
      return KernelError.from(error).code
    }
  }
  const controller = new AbortController()
  const agent = quiet('a', async (ctx) => {
    const narrow = new AbortController()
    const inner = ctx.derive({ signal: narrow.signal })
    narrow.abort(new KernelError('TIMEOUT', 'test: slow'))
    codes.push(thrownBy(ctx), thrownBy(inner))
    controller.abort()
    codes.push(thrownBy(ctx))
  })
  await settled(startRun(agent, input, { signal: controller.signal }))
  expect(codes).toEqual(['nothing', 'TIMEOUT', 'ABORTED'])
})
