import type { ThreadRef } from '@troupe/kernel'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresStore } from './index.ts'
import { startPostgres, type TestServer } from './postgres.fixture.ts'

const ref: ThreadRef = { app: 'app', user: 'anna', threadId: 't' }

describe('statements', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** The statements that one connection keeps after two turns on two stores. */
  async function keptAfter(prepareStatements: boolean): Promise<number> {
    const pool = server.pool({ max: 1 })
    const schemas = [server.schema(), server.schema()]
    for (let turn = 0; turn < 2; turn++) {
      for (const schema of schemas) {
        await using store = postgresStore({ pool, schema, listen: false, prepareStatements })
        await store.threads.open(ref)
        const runId = `run-${turn}`
        const { token } = await store.leases.acquire(ref, { runId, ttlMs: 30_000, begins: true })
        const message = { id: `m${turn}`, role: 'user', content: 'hi' } as const
        await store.threads.commit(ref, { messages: [{ runId, message }], release: true }, token)
        expect(await store.threads.messages(ref)).toHaveLength(turn + 1)
      }
    }
    const { rows } = await pool.query('select count(*)::int as kept from pg_prepared_statements')
    await pool.end()
    return rows[0].kept
  }

  test('stay prepared if the store may prepare them, also those of two stores on one connection', async () => {
    expect(await keptAfter(true)).toBeGreaterThan(10)
  })

  test('do not stay prepared by default, so that a pooler may change connections', async () => {
    expect(await keptAfter(false)).toBe(0)
  })
})
