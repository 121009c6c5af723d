import { KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { RunnerOptions } from '../index.ts'
import { gate, obedient } from './obedient.fixture.ts'
import { ANN, idle, readTo, session, settled, setup, tapped } from './runner.fixture.ts'

const HOUR = 3_600_000
type Tap = (operation: string) => void | Promise<void>

/** A run that waits in a tool, on a store with a clock of its own, which does not jump. */
async function waiting(options: Partial<RunnerOptions> = {}) {
  const tap: { now: Tap } = { now: () => undefined }
  const door = gate()
  const env = setup({ agent: obedient('Desk', { wait: door.pass }), ...options }, (clock) =>
    tapped(memoryStore({ clock: { now: () => clock.elapsed() } }), (operation) => tap.now(operation)),
  )
  const first = settled(env.runner().query('call wait:a', { ...session, runId: 'R1' }))
  await door.entered
  return { ...env, tap, door, first }
}

const unavailable = (): never => {
  throw new KernelError('STORE_UNAVAILABLE', 'the store is away', { retryable: true })
}

describe.each([
  ['forward', HOUR],
  ['back', -HOUR],
])('a clock that jumps %s by an hour', (_, jump) => {
  test('while a renewal of the lease is under way does not end the run', async () => {
    const env = await waiting()
    const answered = Promise.withResolvers<void>()
    env.tap.now = (operation) => (operation === 'leases.renew' ? answered.promise : undefined)
    await env.pass(2_500)
    env.clock.jump(jump)
    // The next look finds the renewal still under way.
    await env.pass(5_000)
    answered.resolve()
    await idle()
    env.tap.now = () => undefined
    await env.pass(5_000)
    env.door.open()
    expect(await env.first).toBe('got passed')
    expect(env.clock.pending).toBe(0)
  })

  test('while the store is away for less than the lease does not end the run', async () => {
    const env = await waiting()
    env.tap.now = (operation) => (operation === 'leases.renew' ? unavailable() : undefined)
    await env.pass(3_000)
    env.clock.jump(jump)
    await env.pass(20_000)
    env.tap.now = () => undefined
    await env.pass(5_000)
    env.door.open()
    expect(await env.first).toBe('got passed')
  })

  test('does not change how long a store that hangs is tolerated', async () => {
    const env = await waiting()
    const never = new Promise<never>(() => {})
    env.tap.now = (operation) => (operation === 'leases.renew' ? never : undefined)
    await env.pass(2_500)
    env.clock.jump(jump)
    let ended = false
    env.first.then(() => (ended = true))
    await env.pass(26_000)
    expect(ended).toBe(false)
    await env.pass(4_000)
    expect([ended, await env.first]).toEqual([true, 'LEASE_LOST'])
  })

  test('does not end the retries of a commit', async () => {
    const env = await waiting()
    env.tap.now = (operation) => (operation === 'threads.commit' ? unavailable() : undefined)
    env.door.open()
    await idle()
    env.clock.jump(jump)
    await env.pass(10_000)
    env.tap.now = () => undefined
    await env.pass(2_000)
    expect(await env.first).toBe('got passed')
  })

  test('does not count as time in which events were not read', async () => {
    const env = setup({ limits: { idleMs: 10_000 } })
    const run = env.runner().query('call add:a', session)
    const events = await readTo(run, 'tool-start')
    await env.pass(5_000)
    env.clock.jump(jump)
    await env.pass(3_000)
    while (!(await events.next()).done);
    expect(await settled(run)).toBe('got added a')
  })

  test('does not end the wait for a busy thread, and no wait takes longer', async () => {
    const env = await waiting()
    const queue = { busy: 'queue', limits: { queueMs: 20_000 } } as const
    const next = settled(env.runner({ ...queue }).query('next', session))
    await env.pass(2_000)
    env.clock.jump(jump)
    await env.pass(10_000)
    const late = settled(env.runner({ ...queue }).query('late', { session: ANN }))
    await env.pass(9_000)
    expect(await next).toBe('THREAD_BUSY')
    env.door.open()
    await env.first
    await env.pass(3_000)
    expect(await late).toMatch(/late$/)
  })
})
