import { expect, test } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

test('a store that is closed right after a renewal was asked for carries it out first', async () => {
  const store = sqliteStore({ path: ':memory:' })
  const ref = { app: 'app', user: 'anna', threadId: 't' }
  const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1_000 })
  const renewed = store.leases.renew(ref, token, 1_000)
  await store[Symbol.asyncDispose]()
  expect(await renewed).toEqual({})
})
