import { getEventListeners } from 'node:events'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { RunnerOptions } from '../index.ts'
import { ANN, idle, type Stage, session, settled, stage, tapped } from './runner.fixture.ts'

/** A stage whose store does not answer one operation until it is told to. */
function slow(
  operation: string,
  options: Partial<RunnerOptions> = {},
): Stage & { answer(): void; asked: Promise<void> } {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const world = stage(options, (clock) =>
    tapped(memoryStore({ clock }), (name) => {
      if (name !== operation) return
      asked.resolve()
      return answered.promise
    }),
  )
  return { ...world, answer: answered.resolve, asked: asked.promise }
}

describe.each(['leases.acquire', 'threads.get', 'threads.open', 'threads.messages', 'threads.commit'])(
  'a store slow at %s',
  (operation) => {
    test('delays a run, and nothing else', async () => {
      const world = slow(operation)
      const run = settled(world.runner().query('hi', session))
      await world.asked
      await world.pass(5_000)
      world.answer()
      expect(await run).toBe('heard hi')
      expect(world.clock.pending).toBe(0)
    })

    test('does not hold up a caller who aborts, and what comes late is given back', async () => {
      const world = slow(operation)
      const stop = new AbortController()
      const run = settled(world.runner().query('hi', { ...session, signal: stop.signal }))
      await world.asked
      stop.abort()
      await world.pass(25_000)
      expect(await run).toBe('ABORTED')
      world.answer()
      await idle()
      await idle()
      expect((await world.store.threads.get(ANN))?.runId).toBeUndefined()
      expect(world.clock.pending).toBe(0)
      expect(getEventListeners(stop.signal, 'abort')).toEqual([])
      expect(await settled(world.runner().query('next', session))).toMatch(/next$/)
    })

    test('does not hold up a reader who leaves', async () => {
      const world = slow(operation)
      const iterator = world.runner().query('hi', session)[Symbol.asyncIterator]()
      let left = false
      const reading = (async () => {
        while (!left && !(await iterator.next()).done);
      })()
      await world.asked
      left = true
      const leaving = iterator.return?.()
      await world.pass(25_000)
      await Promise.all([leaving, reading])
      world.answer()
      await idle()
      await idle()
      expect((await world.store.threads.get(ANN))?.runId).toBeUndefined()
      expect(world.clock.pending).toBe(0)
    })

    test('that never answers does not keep a run longer than runMs and the time to end', async () => {
      const world = slow(operation, { limits: { runMs: 60_000 } })
      const run = settled(world.runner().query('hi', session))
      await world.asked
      let how: string | undefined
      run.then((result) => {
        how = result
      })
      await world.pass(90_000, 1_000)
      expect(how).toBe('TIMEOUT')
      expect(world.clock.pending).toBe(0)
    })
  },
)

test.each(['queue', 'interrupt'] as const)(
  '%s: a thread whose holder is gone is free when its lease is over',
  async (busy) => {
    const world = stage({ busy })
    await world.store.leases.acquire(ANN, { runId: 'gone', ttlMs: 30_000 })
    const run = settled(world.runner().query('hi', session))
    await world.pass(28_000)
    expect(world.heard).toEqual([])
    await world.pass(4_000)
    expect(await run).toBe('heard hi')
    expect(world.clock.pending).toBe(0)
  },
)
