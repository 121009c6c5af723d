import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent } from '../index.ts'
import { KernelError, say } from '../index.ts'
import { abortScope } from '../kit.ts'
import { runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, brief, caller, callOf, fakeClock, input, never, quiet, settled, toolStart } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a nested run', () => {
  test('stops at its gate wherever the outer consumer leaves, three levels up', async () => {
    let effects = 0
    const leaf = agentOf('leaf', async function* (ctx) {
      yield* say(ctx, 'before')
      yield toolStart
      effects++
      yield* say(ctx, 'after')
    })
    const root = caller('root', caller('mid', leaf))
    const all = brief(await collect(startRun(root, input)))
    for (let leaveAt = 0; leaveAt < all.length - 4; leaveAt++) {
      effects = 0
      const ends: string[] = []
      const onPart = (_: unknown, { type, agentName }: AgentEvent) => void (type === 'run-end' && ends.push(agentName))
      const run = startRun(root, input, { callbacks: [{ name: 'ends', run: { onPart } }] })
      let seen = 0
      for await (const _ of run) if (seen++ === leaveAt) break
      await settled(run)
      await idle()
      const begun = ['leaf', 'mid', 'root'].filter((name) => all.indexOf(`${name} run-start`) <= leaveAt)
      expect(effects, `left after ${all[leaveAt]}`).toBe(all.indexOf('leaf tool-start') < leaveAt ? 1 : 0)
      expect(
        ends.filter((name) => begun.includes(name)),
        `left after ${all[leaveAt]}`,
      ).toEqual(begun)
    }
  })

  test('that is deaf ends inside the runs around it, each with its own run-end, when their timers fire one by one', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const deaf = agentOf('deaf', async function* (ctx) {
      yield* say(ctx, 'deaf')
      await never
    })
    const run = startRun(caller('root', caller('mid', deaf)), input, { clock, signal: controller.signal })
    const reading = collect(run)
    await idle()
    controller.abort()
    await clock.pass(1_000)
    const ends = (await reading).flatMap((event) =>
      event.type === 'run-end' ? [[event.agentName, event.outcome]] : [],
    )
    expect(ends).toEqual(['deaf', 'mid', 'root'].map((name) => [name, 'cancelled']))
    expect([getEventListeners(controller.signal, 'abort').length, clock.pending()]).toEqual([0, 0])
  })

  test('can be timed out alone, deaf or not, and leaves no listener on the signal of its call', async () => {
    const clock = fakeClock()
    const codes: unknown[] = []
    const root = agentOf('root', async function* (ctx) {
      for (const deaf of [true, false]) {
        using scope = abortScope(ctx.signal)
        const silent = agentOf('silent', async function* (inner) {
          await new Promise((_, reject) => deaf || inner.signal.addEventListener('abort', reject))
          yield* say(inner, 'never')
        })
        const call = callOf(ctx, deaf ? 0 : 1).derive({ signal: scope.signal })
        const nested = runNested(silent, input, call).catch((error: KernelError) => codes.push(error.code))
        await idle()
        scope.abort(new KernelError('TIMEOUT', 'test: slow'))
        if (deaf) await clock.pass(1_000)
        await nested
        codes.push(getEventListeners(scope.signal, 'abort').length)
      }
      yield* say(ctx, 'alive')
    })
    expect(await startRun(root, input, { clock })).toMatchObject({ outcome: 'complete', text: 'alive' })
    expect([codes, clock.pending()]).toEqual([['TIMEOUT', 0, 'TIMEOUT', 0], 0])
  })

  test('that outlives its call is cut off with ABORTED when the run around it ends', async () => {
    const codes: unknown[] = []
    const waiting = quiet('waiting', (ctx) => {
      const { promise, reject } = Promise.withResolvers<void>()
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
      return promise
    })
    const careless = agentOf('careless', async function* (ctx) {
      runNested(waiting, input, callOf(ctx, 0)).catch((error: KernelError) => codes.push(error.code, error.message))
      yield* say(ctx, 'done')
    })
    expect(await startRun(careless, input, { runId: 'R' })).toMatchObject({ outcome: 'complete', text: 'done' })
    expect(codes).toEqual(['ABORTED', 'run R: ended while a nested run was under way'])
  })

  test('that is deaf has less time to end than the run around it, at every level', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const ends: unknown[] = []
    const onPart = (_: unknown, { type, agentName }: AgentEvent) =>
      void (type === 'run-end' && ends.push([agentName, Math.round(clock.now())]))
    const deaf = (name: string, ...children: readonly Agent[]) =>
      quiet(name, async (ctx) => {
        await Promise.allSettled(children.map((child, i) => runNested(child, input, callOf(ctx, i))))
        await never
      })
    const callbacks = [{ name: 'ends', run: { onPart } }]
    const agent = deaf('root', deaf('mid', deaf('leaf')))
    const run = settled(startRun(agent, input, { clock, signal: controller.signal, callbacks }))
    await idle()
    controller.abort()
    await clock.pass(1_000)
    expect([await run, ends]).toEqual([
      'ABORTED',
      [
        ['leaf', 333],
        ['mid', 500],
        ['root', 1_000],
      ],
    ])
  })
})
