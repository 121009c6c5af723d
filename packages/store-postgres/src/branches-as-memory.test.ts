import { sameBranches } from '@troupe/store-sql/random-branches'
import type { Pool } from 'pg'
import { afterAll, beforeAll, it } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresStore } from './postgres-store.ts'

let server: TestServer
let pool: Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = server.pool({ max: 4 })
}, 60_000)
afterAll(async () => {
  await pool.end()
  await server[Symbol.asyncDispose]()
})

const TABLES = ['threads', 'segments', 'messages', 'changes', 'processed', 'blobs', 'leases']

it('keeps the same branches as the memory store, whatever is said, branched and deleted, and leaves no row of them', async () => {
  const schema = server.schema()
  await using store = postgresStore({ pool, schema, clock: { now: () => 1, after: () => () => undefined } })
  await store.ready()
  await sameBranches(
    async (_clock, work) => {
      for (const table of ['threads', 'leases', 'run_ids', 'owners'])
        await server.ask(`delete from ${schema}.troupe_${table}`)
      await work(store)
    },
    async () => {
      const counts = TABLES.map((table) => `(select count(*) from ${schema}.troupe_${table})`)
      const [row] = await server.ask(`select (${counts.join(' + ')})::int as n`)
      return Number(row?.n)
    },
    25,
  )
}, 120_000)
