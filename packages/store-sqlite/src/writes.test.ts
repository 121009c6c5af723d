import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqlStore, type Tables } from '@troupe/store-sql'
import { fakeClock } from '@troupe/testkit'
import type { Kysely } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { sqliteEngine, sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-writes-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)
const ref = { app: 'app', user: 'anna', threadId: 't' }
const said = (id: string) => ({ runId: 'r1', message: { id, role: 'user', content: id } as const })

/** A store that notes which of its statements wait for the disk. */
function watched() {
  const clock = fakeClock()
  const engine = sqliteEngine({ path: file(), clock })
  const ran: ('waits' | 'does not wait')[] = []
  const noting = (db: Kysely<Tables>, what: (typeof ran)[number]) =>
    db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        ran.push(what)
        return result
      },
    })
  const { db, relaxed = db } = engine
  const store = sqlStore({ ...engine, db: noting(db, 'waits'), relaxed: noting(relaxed, 'does not wait') })
  return { store, ran, clock }
}

test('a new run takes a free lease without waiting for the disk, and its commit waits', async () => {
  const { store, ran } = watched()
  await using _ = store
  await store.threads.open(ref)
  ran.length = 0
  const { token } = await store.leases.acquire(ref, { runId: 'r1', ttlMs: 1_000, begins: true })
  expect(new Set(ran)).toEqual(new Set(['does not wait']))
  ran.length = 0
  await store.threads.commit(ref, { messages: [said('m1')], release: true }, token)
  expect(new Set(ran)).toEqual(new Set(['waits']))
})

test('a lease that another run left behind is taken over with a write that waits', async () => {
  const { store, ran, clock } = watched()
  await using _ = store
  await store.threads.open(ref)
  await store.leases.acquire(ref, { runId: 'r1', ttlMs: 1_000, begins: true })
  clock.advance(1_000)
  ran.length = 0
  await store.leases.acquire(ref, { runId: 'r2', ttlMs: 1_000, begins: true })
  expect(ran.at(-1)).toBe('waits')
})

test('a commit that leaves the state as it is does not write it', async () => {
  const path = file()
  await using store = sqliteStore({ path })
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'r1', ttlMs: 60_000, begins: true })
  const database = new DatabaseSync(path)
  database.exec('create table writes (version integer)')
  const note = 'begin insert into writes values (new.version); end'
  database.exec(`create trigger noted after update of state on troupe_threads ${note}`)
  await store.threads.commit(ref, { set: { n: 1 }, messages: [said('m1')] }, token)
  await store.threads.commit(ref, { messages: [said('m2')] }, token)
  await store.threads.commit(ref, { set: { n: 2 } }, token)
  expect(database.prepare('select version from writes').all()).toEqual([{ version: 1 }, { version: 3 }])
  database.close()
  expect(await store.threads.get(ref)).toMatchObject({ version: 3, state: { n: 2 } })
})
