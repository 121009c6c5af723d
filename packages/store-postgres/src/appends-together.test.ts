import { sqlStore } from '@troupe/store-sql'
import { appendsTogether, begun } from '@troupe/store-sql/appends-together'
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresEngine, postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

describe('appends at the same time', () => {
  appendsTogether(() => postgresStore({ url: server.url, schema: server.schema() }))

  it('do not wait for the disk, and commits do', async () => {
    const engine = postgresEngine({ url: server.url, schema: server.schema() })
    await using _ = sqlStore(engine)
    const modeOf = async (db: typeof engine.db) =>
      db.transaction().execute(async (tx) => {
        const { rows } = await tx.executeQuery<{ synchronous_commit: string }>(
          CompiledQuery.raw('show synchronous_commit'),
        )
        return rows[0]?.synchronous_commit
      })
    expect(await modeOf(engine.relaxed ?? engine.db)).toBe('off')
    const [{ setting } = {}] = await server.ask("select setting from pg_settings where name = 'synchronous_commit'")
    expect(await modeOf(engine.db)).toBe(setting)
  })

  it('leave out a log that another transaction has locked, until it is free', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await begun(store, 3)
    const pool = server.pool()
    const client = await pool.connect()
    await client.query(`begin; select * from ${schema}.troupe_run_logs where id = 1 for update`)
    const [locked, ...others] = [0, 1, 2].map((n) =>
      store.runLog.append({ app: 'app', user: 'anna', threadId: `t${n}` }, 'run', 1, [n]),
    )
    expect(await Promise.all(others)).toEqual([2, 2])
    await client.query('rollback')
    client.release()
    expect(await locked).toBe(2)
  })
})
