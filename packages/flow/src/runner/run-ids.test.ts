import { expect, test } from 'vitest'
import { ANN, session, settled, setup, user } from './runner.fixture.ts'

const OTHER = { ...ANN, threadId: 'other' }

test('a run id that its owner has used in another thread is refused, and nothing of the run is stored or done', async () => {
  const env = setup()
  const desk = env.runner()
  expect(await settled(desk.query('hi', { ...session, runId: 'R1' }))).toBe('heard hi')
  const heard = env.heard.length
  expect(await settled(desk.query('hi', { session: OTHER, runId: 'R1' }))).toBe('RUN_ID_TAKEN')
  expect(await settled(desk.resume({ 'a#1': 1 }, { session: OTHER, runId: 'R1' }))).toBe('RUN_ID_TAKEN')
  expect([await env.store.threads.get(OTHER), env.heard.length]).toEqual([undefined, heard])
  expect(await settled(desk.query('hi', { session: OTHER, runId: 'R2' }))).toBe('heard hi')
  expect(env.clock.pending).toBe(0)
})

test('also while that run is under way, and in a runner that waits for busy threads', async () => {
  const env = setup({ busy: 'queue' })
  const { token } = await env.store.leases.acquire(ANN, { runId: 'R1', ttlMs: 1_000, begins: true })
  expect(await settled(env.runner().query('hi', { session: OTHER, runId: 'R1' }))).toBe('RUN_ID_TAKEN')
  await env.store.leases.release(ANN, token)
})

test('other owners may use the same id', async () => {
  const env = setup()
  await env.runner().run({ messages: [user('hi')] }, { ...session, runId: 'R1' })
  const bob = { ...ANN, user: 'bob' }
  expect(await settled(env.runner().query('hi', { session: bob, runId: 'R1' }))).toBe('heard hi')
})
