import type { Clock } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { takeTurns } from '@troupe/store-sql/take-turns'
import { testStore } from '@troupe/testkit'
import type { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresStore } from './postgres-store.ts'

let server: TestServer
let schema: string
let pools: Pool[]
beforeAll(async () => {
  server = await startPostgres()
  schema = server.schema()
  await using store = postgresStore({ url: server.url, schema })
  await store.ready()
  pools = [server.pool({ max: 8 }), server.pool({ max: 8 })]
}, 60_000)
afterAll(async () => {
  for (const pool of pools) await pool.end()
  await server[Symbol.asyncDispose]()
})

/** Faster than a schema for each clause, or a truncate. */
const empty = async () => {
  for (const table of ['threads', 'leases', 'run_ids', 'grants', 'counters', 'facts', 'owners'])
    await server.ask(`delete from ${schema}.troupe_${table}`)
}

testStore('postgresStore on a pool of the app', async (clock) => {
  await empty()
  const [first, second] = pools as [Pool, Pool]
  const open = (pool: Pool) => postgresStore({ pool, schema, clock })
  return { store: open(first), keeps: 'for-many-instances', reopen: () => open(second) }
})

testStore('two postgresStores on one schema, asked in turn', async ({ now }) => {
  await empty()
  const clock: Clock = { now, after: systemClock.after }
  // Polling would take longer than a test may: each store is notified of the other's writes.
  return takeTurns(pools.map((pool) => postgresStore({ pool, schema, clock, pollMs: 60_000 })))
})
