import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())
afterEach(() => void vi.useRealTimers())

const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }
const busy = { code: 'THREAD_BUSY' }
const RIGHT = Date.now()
const HOUR = 3_600_000

/** Lets the clock of this process be wrong by this much; that of the server stays right. */
function wrongBy(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: RIGHT + ms })
}

it.each([HOUR, -HOUR])('a process whose clock is wrong by %d ms takes no lease that is alive', async (ms) => {
  await using store = postgresStore({ url: server.url, schema: server.schema(), listen: false })
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 30_000 })
  await store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['a'] } }, token)
  wrongBy(ms)
  await expect(store.leases.acquire(ref, { runId: 'run-2', ttlMs: 30_000 })).rejects.toMatchObject(busy)
  expect((await store.threads.get(ref))?.runId).toBe('run-1')
  expect((await store.threads.list(ref)).map(({ runId }) => runId)).toEqual(['run-1'])
  expect(await store.threads.idle({ before: RIGHT + 2 * HOUR, limit: 10 })).toEqual([])
  expect(await store.journal.lost({ before: RIGHT + 2 * HOUR, limit: 10 })).toEqual([])
  expect((await store.threads.commit(ref, { set: { a: 1 } }, token)).runId).toBe('run-1')
  expect(await store.leases.requestCancel(ref, { mode: 'now' })).toBe(true)
})

it.each([HOUR, -HOUR])('a lease that such a process takes or renews lasts as long as it asked for', async (ms) => {
  await using store = postgresStore({ url: server.url, schema: server.schema(), listen: false })
  await store.threads.open(ref)
  wrongBy(ms)
  const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 30_000 })
  wrongBy(0)
  await expect(store.leases.acquire(ref, { runId: 'run-2', ttlMs: 1_000 })).rejects.toMatchObject(busy)
  wrongBy(ms)
  await store.leases.renew(ref, token, 30_000)
  wrongBy(0)
  expect((await store.threads.get(ref))?.runId).toBe('run-1')
  wrongBy(ms)
  await store.leases.renew(ref, token, 1)
  wrongBy(0)
  await vi.waitUntil(async () => (await store.threads.get(ref))?.runId === undefined)
  expect((await store.leases.acquire(ref, { runId: 'run-2', ttlMs: 1_000 })).token).toBeGreaterThan(token)
})
