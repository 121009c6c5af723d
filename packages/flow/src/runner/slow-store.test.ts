import { getEventListeners } from 'node:events'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { RunnerOptions } from '../index.ts'
import { ANN, idle, type Setup, session, settled, setup, tapped } from './runner.fixture.ts'

/** A setup whose store delays one operation until the test lets it answer. */
async function slow(
  operation: string,
  options: Partial<RunnerOptions> = {},
): Promise<Setup & { answer(): void; asked: Promise<void> }> {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let delays = false
  const env = setup(options, (clock) =>
    tapped(memoryStore({ clock }), (name) => {
      if (!delays || name !== operation) return
      asked.resolve()
      return answered.promise
    }),
  )
  // Nobody reads the messages of a thread that was never written to.
  if (operation === 'threads.messages') {
    await env.store.threads.open(ANN)
    const { token } = await env.store.leases.acquire(ANN, { runId: 'former', ttlMs: 1_000 })
    await env.store.threads.commit(ANN, { release: true }, token)
  }
  delays = true
  return { ...env, answer: answered.resolve, asked: asked.promise }
}

describe.each(['leases.acquire', 'threads.get', 'threads.open', 'threads.messages', 'threads.commit'])(
  'a store slow at %s',
  (operation) => {
    test('delays a run, and nothing else', async () => {
      const env = await slow(operation)
      const run = settled(env.runner().query('hi', session))
      await env.asked
      await env.pass(5_000)
      env.answer()
      expect(await run).toBe('heard hi')
      expect(env.clock.pending).toBe(0)
    })

    test('does not hold up a caller who aborts, and what comes late is given back', async () => {
      const env = await slow(operation)
      const stop = new AbortController()
      const run = settled(env.runner().query('hi', { ...session, signal: stop.signal }))
      await env.asked
      stop.abort()
      await env.pass(25_000)
      expect(await run).toBe('ABORTED')
      env.answer()
      await idle()
      await idle()
      expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
      expect(env.clock.pending).toBe(0)
      expect(getEventListeners(stop.signal, 'abort')).toEqual([])
      expect(await settled(env.runner().query('next', session))).toMatch(/next$/)
    })

    test('does not hold up a reader who leaves', async () => {
      const env = await slow(operation)
      const iterator = env.runner().query('hi', session)[Symbol.asyncIterator]()
      let left = false
      const reading = (async () => {
        while (!left && !(await iterator.next()).done);
      })()
      await env.asked
      left = true
      const leaving = iterator.return?.()
      await env.pass(25_000)
      await Promise.all([leaving, reading])
      env.answer()
      await idle()
      await idle()
      expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
      expect(env.clock.pending).toBe(0)
    })

    test('that never answers does not keep a run longer than runMs and the time to end', async () => {
      const env = await slow(operation, { limits: { runMs: 60_000 } })
      const run = settled(env.runner().query('hi', session))
      await env.asked
      let how: string | undefined
      run.then((result) => {
        how = result
      })
      await env.pass(90_000, 1_000)
      expect(how).toBe('TIMEOUT')
      expect(env.clock.pending).toBe(0)
    })
  },
)

test.each(['queue', 'interrupt'] as const)(
  '%s: a thread whose holder is gone is free when its lease is over',
  async (busy) => {
    const env = setup({ busy })
    await env.store.leases.acquire(ANN, { runId: 'gone', ttlMs: 30_000 })
    const run = settled(env.runner().query('hi', session))
    await env.pass(28_000)
    expect(env.heard).toEqual([])
    await env.pass(4_000)
    expect(await run).toBe('heard hi')
    expect(env.clock.pending).toBe(0)
  },
)
