import { MIGRATIONS, sqlStore } from '@troupe/store-sql'
import {
  BESIDE_NAMED,
  counted,
  FIRST_VERSION,
  idsBesideNamed,
  LATER_VERSION,
  makeFirstVersion,
  NAMED_RUN,
  readFirstVersion,
  useLaterVersion,
} from '@troupe/store-sql/first-version'
import { fakeClock } from '@troupe/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresEngine, postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

/** A schema of the first release. */
async function firstRelease(): Promise<string> {
  const schema = server.schema()
  await makeFirstVersion(postgresEngine({ url: server.url, schema }), schema)
  return schema
}

const versionOf = async (schema: string) =>
  (await server.ask(`select version from ${schema}.troupe_schema`))[0]?.version

/** Reads a schema with this code, which upgrades it, and uses what is new. */
async function checkUpgraded(schema: string): Promise<void> {
  await using store = postgresStore({ url: server.url, schema, clock: fakeClock(2000), listen: false })
  expect(await readFirstVersion(store)).toEqual(FIRST_VERSION)
  expect(await useLaterVersion(store)).toEqual(LATER_VERSION)
  expect(await versionOf(schema)).toBe(MIGRATIONS.length)
}

describe('a schema of the first release', () => {
  it('is upgraded with all it has', async () => {
    const schema = await firstRelease()
    expect(await versionOf(schema)).toBe(1)
    await checkUpgraded(schema)
  })

  it('keeps the ids of its runs for them and for what is nested in them', async () => {
    const schema = await firstRelease()
    await server.ask(NAMED_RUN.replace('troupe_', `${schema}.troupe_`))
    await using store = postgresStore({ url: server.url, schema, clock: fakeClock(2000), listen: false })
    expect(await idsBesideNamed(store)).toEqual(BESIDE_NAMED)
  })

  it('is upgraded once by stores that start together, and used by all of them at once', async () => {
    const schema = await firstRelease()
    const stores = [1, 2, 3].map(() =>
      postgresStore({ url: server.url, schema, clock: fakeClock(2000), listen: false, lockTimeoutMs: 1 }),
    )
    const read = await Promise.all(stores.map(readFirstVersion))
    expect(read).toEqual([FIRST_VERSION, FIRST_VERSION, FIRST_VERSION])
    for (const store of stores) await store[Symbol.asyncDispose]()
    await checkUpgraded(schema)
  })

  it('is as it was if a statement of the upgrade fails, whichever, and is upgraded the next time', async () => {
    const schema = await firstRelease()
    let failures = 0
    // The first statement reads the version.
    for (let failing = 2; ; failing++) {
      const fail = (statement: number) => {
        if (statement === failing) throw new Error('test: the network is gone')
      }
      await using store = sqlStore(counted(postgresEngine({ url: server.url, schema, listen: false }), fail))
      const error = await store.ready().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (!error) break
      failures++
      expect(await versionOf(schema)).toBe(1)
    }
    expect(failures).toBeGreaterThan(MIGRATIONS.length)
    await checkUpgraded(schema)
  })

  it('is upgraded by the next store while the process that began is frozen in the middle', async () => {
    const schema = await firstRelease()
    const [reached, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const pool = server.pool({ max: 1 })
    const engine = postgresEngine({ pool, schema, listen: false, idleTransactionMs: 100 })
    const { lockSchema } = engine
    const frozen = sqlStore({
      ...engine,
      async lockSchema(tx) {
        await lockSchema(tx)
        reached.resolve()
        await thawed.promise
      },
    })
    const late = frozen.ready().catch((error: unknown) => error)
    await reached.promise
    await checkUpgraded(schema)
    thawed.resolve()
    expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true })
    await frozen.ready()
    await frozen[Symbol.asyncDispose]()
    await pool.end()
  })
})
