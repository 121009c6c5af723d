import { type Clock, systemClock } from '@troupe/kernel'
import { takeTurns } from '@troupe/store-sql/take-turns'
import { testStore } from '@troupe/testkit'
import type { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresStore } from './postgres-store.ts'

let server: TestServer
let schema: string
let pool: Pool
beforeAll(async () => {
  server = await startPostgres()
  schema = server.schema()
  await using store = postgresStore({ url: server.url, schema })
  await store.ready()
  pool = server.pool()
}, 60_000)
afterAll(async () => {
  await pool.end()
  await server[Symbol.asyncDispose]()
})

/** Faster than a schema for each clause, or a truncate. */
const empty = async () => {
  for (const table of ['threads', 'leases', 'owners']) await server.ask(`delete from ${schema}.troupe_${table}`)
}

testStore('postgresStore on a pool of the app', async (clock) => {
  await empty()
  return postgresStore({ pool, schema, clock })
})

testStore('two postgresStores on one schema, asked in turn', async ({ now }) => {
  await empty()
  const clock: Clock = { now, after: systemClock.after }
  // Looking would take longer than a test may: what one writes, the other hears.
  return takeTurns(
    [1, 2].map(() => postgresStore({ url: server.url, schema, clock, pollMs: 60_000, maxConnections: 4 })),
  )
})
