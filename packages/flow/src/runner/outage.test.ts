import { KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { RunnerOptions } from '../index.ts'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, idle, type Setup, session, settled, setup, tapped } from './runner.fixture.ts'

type Broken = (operation: string, count: number) => boolean

interface Outage extends Setup {
  /** The operations of the store, and which of them fail. */
  readonly operations: string[]
  readonly broken: { now: Broken; code: string; retryable: boolean }
}

/** A setup whose store is unavailable for the operations that a test chooses. */
function outage(options: Partial<RunnerOptions> = {}): Outage {
  const operations: string[] = []
  const broken: Outage['broken'] = { now: () => false, code: 'STORE_UNAVAILABLE', retryable: true }
  const tap = (operation: string) => {
    operations.push(operation)
    const count = operations.filter((name) => name === operation).length
    const { code, retryable } = broken
    if (broken.now(operation, count)) throw new KernelError(code, `test: ${operation}`, { retryable })
  }
  const env = setup({ agent: obedient('Desk', TOOLS), ...options }, (clock) => {
    const store = memoryStore({ clock })
    const append: typeof store.journal.append = async (...args) => {
      tap('journal.append')
      return store.journal.append(...args)
    }
    return tapped({ ...store, journal: { ...store.journal, append } }, tap)
  })
  return { ...env, operations, broken }
}

const count = ({ operations }: Outage, operation: string) => operations.filter((name) => name === operation).length
/** The last commit of a run, whose first one stores its beginning. */
const isLastCommit: Broken = (operation, nth) => operation === 'threads.commit' && nth > 1

describe('a short outage is a pause', () => {
  test.each([
    ['the last commit', (operation: string, nth: number) => isLastCommit(operation, nth)],
    ['a step', (operation: string) => operation === 'journal.append'],
    ['everything', (operation: string, nth: number) => operation !== 'threads.commit' || nth > 1],
  ])('of %s: the answer is stored when it is over, and the run completes', async (_, isBroken) => {
    const env = outage()
    let down = true
    env.broken.now = (operation, nth) => {
      const isStarting = count(env, 'threads.commit') === 0
      return !isStarting && down && isBroken(operation, nth)
    }
    const run = settled(env.runner().query('call add:a', session))
    await env.pass(20_000)
    expect(env.heard.some(({ type }) => type === 'run-end')).toBe(false)
    down = false
    await env.pass(2_000)
    expect(await run).toBe('got added a')
    expect((await env.lines()).at(-1)).toBe('assistant got added a')
    expect(env.clock.pending).toBe(0)
  })

  test('that lasts longer than the lease ends the run once, and the next run has what it did', async () => {
    const env = outage()
    let down = true
    env.broken.now = (operation) => down && count(env, 'threads.commit') > 1 && operation !== 'threads.get'
    const run = settled(env.runner().query('call add:a', { ...session, runId: 'R1' }))
    await env.pass(40_000)
    expect(['STORE_UNAVAILABLE', 'LEASE_LOST']).toContain(await run)
    expect(env.heard.filter(({ type }) => type === 'run-end')).toHaveLength(1)
    expect(env.clock.pending).toBe(0)
    down = false
    expect(await settled(env.runner().query('next', session))).toMatch(/next$/)
    expect(await env.lines()).toContain('assistant got added a')
  })

  test('is retried with growing pauses, not in a loop', async () => {
    const env = outage()
    env.broken.now = isLastCommit
    const run = settled(env.runner().query('hi', session))
    await env.pass(29_000, 100)
    expect(count(env, 'threads.commit')).toBeLessThan(36)
    await env.pass(4_000)
    expect(await run).toBe('STORE_UNAVAILABLE')
  })
})

describe('an error that does not pass', () => {
  test('is not retried at all where it says so', async () => {
    const env = outage()
    env.broken.code = 'STORE_READ_ONLY'
    env.broken.retryable = false
    env.broken.now = isLastCommit
    expect(await settled(env.runner().query('hi', session))).toBe('STORE_READ_ONLY')
    expect(count(env, 'threads.commit')).toBe(2)
  })

  test('ends the run after leaseMs where only the commit fails and the lease can be renewed, as on a full disk', async () => {
    const env = outage()
    env.broken.code = 'STORE_FULL'
    env.broken.now = isLastCommit
    const run = settled(env.runner().query('hi', session))
    await env.pass(28_000)
    expect(env.heard.some(({ type }) => type === 'run-end')).toBe(false)
    await env.pass(4_000)
    expect(await run).toBe('STORE_FULL')
    expect(env.heard.filter(({ type }) => type === 'run-end')).toHaveLength(1)
    expect(env.clock.pending).toBe(0)
  })

  test('refuses a run that has not begun soon, so that its caller can send it again', async () => {
    const env = outage()
    env.broken.now = (operation) => operation === 'threads.commit'
    const run = settled(env.runner().query('hi', session))
    await env.pass(500, 100)
    expect(await run).toBe('STORE_UNAVAILABLE')
  })
})

describe('a lease that could not be released in an outage', () => {
  const leaving = async (options: Partial<RunnerOptions> = {}) => {
    const env = outage(options)
    // A store that does not know `release`, so that the lease is released after the last commit.
    const { commit } = env.store.threads
    env.store.threads.commit = (ref, { release: _, ...change }, token) => commit(ref, change, token)
    env.broken.now = (operation) => operation === 'leases.release'
    const desk = env.runner()
    expect(await settled(desk.query('hi', session))).toBe('heard hi')
    return { ...env, desk }
  }

  test('does not delay or fail its run, and is released in the background', async () => {
    const env = await leaving()
    expect(env.reports).toEqual([])
    expect((await env.store.threads.get(ANN))?.runId).toBeDefined()
    await env.pass(5_000)
    env.broken.now = () => false
    await env.pass(2_000)
    expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
    expect(env.clock.pending).toBe(0)
    expect(await settled(env.runner().query('next', session))).toBe('heard hi | next')
  })

  test.each(['reject', 'queue', 'interrupt'] as const)(
    'is taken back at once by the next run of its process (%s)',
    async (busy) => {
      const env = await leaving({ busy })
      env.broken.now = () => false
      expect(await settled(env.desk.query('next', session))).toBe('heard hi | next')
      expect(env.clock.pending).toBe(0)
    },
  )

  test('is respected by other processes', async () => {
    const env = await leaving()
    env.broken.now = () => false
    expect(await settled(env.runner().query('next', session))).toBe('THREAD_BUSY')
  })

  test('keeps the next run away with the error of the store while the outage lasts', async () => {
    const env = await leaving()
    expect(await settled(env.desk.query('next', session))).toBe('STORE_UNAVAILABLE')
  })

  test('is given up and reported when it has expired, or if the error does not pass', async () => {
    const env = await leaving()
    await env.pass(35_000)
    expect(env.reports).toMatchObject([{ code: 'STORE_UNAVAILABLE' }])
    expect(env.clock.pending).toBe(0)
    const next = await leaving()
    next.broken.retryable = false
    await next.pass(1_000)
    expect(next.reports).toMatchObject([{ code: 'STORE_UNAVAILABLE' }])
    expect(next.clock.pending).toBe(0)
    await idle()
  })
})
