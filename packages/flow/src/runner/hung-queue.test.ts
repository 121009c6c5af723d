import { memoryStore } from '@troupe/kernel/memory-store'
import { expect, test } from 'vitest'
import { idle, session, settled, setup, tapped } from './runner.fixture.ts'

test('queue: a run that has ended without its lease does not block the next one, whatever the store does', async () => {
  let hangs = true
  const env = setup({ busy: 'queue', limits: { runMs: 1_000, queueMs: 60_000 } }, (clock) =>
    tapped(memoryStore({ clock }), (name) =>
      hangs && name === 'leases.acquire' ? new Promise<void>(() => {}) : undefined,
    ),
  )
  const desk = env.runner()
  const first = settled(desk.query('first', session))
  await env.pass(70_000, 1_000)
  expect(await first).toBe('TIMEOUT')
  hangs = false
  let how: string | undefined
  settled(desk.query('next', session)).then((result) => {
    how = result
  })
  await idle()
  await idle()
  expect(how).toBe('heard next')
})

test('queue: a lease that comes when its run has ended is given back', async () => {
  let answer = () => {}
  const env = setup({ busy: 'queue', limits: { runMs: 1_000 } }, (clock) => {
    const store = memoryStore({ clock })
    const { acquire } = store.leases
    const late = new Promise<void>((resolve) => {
      answer = resolve
    })
    return { ...store, leases: { ...store.leases, acquire: (...args) => late.then(() => acquire(...args)) } }
  })
  const run = settled(env.runner().query('late', session))
  await env.pass(70_000, 1_000)
  expect(await run).toBe('TIMEOUT')
  answer()
  await idle()
  expect((await env.store.threads.get(session.session))?.runId).toBeUndefined()
  const { token } = await env.store.leases.acquire(session.session, { runId: 'next', ttlMs: 1_000 })
  expect(token).toBeGreaterThan(0)
})
