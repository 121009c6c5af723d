import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { MIGRATIONS, sqlStore } from '@troupe/store-sql'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { sqliteEngine, sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-forgotten-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)
const anna = { app: 'app', user: 'anna' }

/** A word for each number. They begin differently, because an index keeps the beginning that words share once. */
function word(n: number): string {
  const bytes = createHash('sha256').update(String(n)).digest().subarray(0, 12)
  return [...bytes].map((byte) => 'bcdfghjklmnpqrst'[byte % 16]).join('')
}

const words = Array.from({ length: 90 }, (_, n) => word(n))

/** Those of the words that the files of a store have, in whatever table. */
function inFiles(path: string, wanted: readonly string[]): readonly string[] {
  const texts = [path, `${path}-wal`].filter((name) => existsSync(name)).map((name) => readFileSync(name, 'latin1'))
  return wanted.filter((one) => texts.some((text) => text.includes(one.slice(3))))
}

async function noteAll(store: ReturnType<typeof sqliteStore>): Promise<void> {
  for (const [n, one] of words.entries()) {
    const embedding = n % 3 === 1 ? Array.from({ length: 300 }, (_, i) => Math.sin(n * i)) : undefined
    await store.facts.add(anna, { text: `Likes ${one}.`.repeat(1 + (n % 5)), at: 1, ...(embedding && { embedding }) })
  }
}

it('a forgotten fact is in no file of the store, neither as text nor as words, while others are', async () => {
  const path = file()
  await using store = sqliteStore({ path })
  await noteAll(store)
  expect(inFiles(path, words)).toEqual(words)
  const gone = words.filter((_, n) => n % 4 === 0)
  await store.facts.forget(
    anna,
    gone.map((one) => words.indexOf(one) + 1),
  )
  expect(inFiles(path, gone)).toEqual([])
  const [kept = ''] = words.filter((one) => !gone.includes(one)).slice(20)
  expect(await store.facts.search(anna, { text: `${gone[3]} ${kept}`, limit: 5 })).toMatchObject([
    { seq: words.indexOf(kept) + 1 },
  ])
  await store.facts.forget(anna, 'all')
  expect(inFiles(path, words)).toEqual([])
})

it('the oldest fact that makes room is in no file once the store is closed', async () => {
  const path = file()
  {
    await using store = sqliteStore({ path, synchronous: 'normal' })
    for (const text of [...words.slice(0, 3), ...Array.from({ length: 1000 }, (_, n) => `fact ${n}`)]) {
      await store.facts.add(anna, { text, at: 1 })
    }
  }
  expect(inFiles(path, words.slice(0, 3))).toEqual([])
})

it('a fact is forgotten while another process reads, whose end lets the next one empty the log', async () => {
  const path = file()
  await using store = sqliteStore({ path, busyTimeoutMs: 20 })
  await noteAll(store)
  const reader = new DatabaseSync(path)
  reader.exec('begin')
  reader.prepare('select count(*) from troupe_facts').get()
  expect(await store.facts.forget(anna, [1])).toBe(1)
  expect(await store.facts.list(anna, { limit: 1 })).toMatchObject([{ seq: 2 }])
  reader.close()
  expect(await store.facts.forget(anna, [2])).toBe(1)
  expect(inFiles(path, words.slice(0, 2))).toEqual([])
})

it('only writes of facts overwrite what they delete', async () => {
  const engine = sqliteEngine({ path: file() })
  await using store = sqlStore(engine)
  await store.facts.add(anna, { text: 'Likes tea.', at: 1 })
  await store.facts.forget(anna, 'all')
  const { rows } = await sql<{ secure_delete: number }>`pragma secure_delete`.execute(engine.db)
  expect(rows).toEqual([{ secure_delete: 0 }])
  const overwriting = await sql<{ secure_delete: number }>`pragma secure_delete`.execute(
    engine.overwriting ?? engine.db,
  )
  expect(overwriting.rows).toEqual([{ secure_delete: 1 }])
})

it('an upgraded file finds its facts, and forgets the words of the index it had', async () => {
  const path = file()
  const { db } = sqliteEngine({ path })
  for (const migration of MIGRATIONS.slice(0, 14)) await migration(db, 'sqlite')
  await sql`create table troupe_schema (version integer not null)`.execute(db)
  await sql`insert into troupe_schema values (14)`.execute(db)
  await sql`insert into troupe_owners (id, app, user_id, thread_seq, fact_seq) values (7, 'app', 'anna', 0, 90)`.execute(
    db,
  )
  for (const [n, one] of words.entries()) {
    await sql`insert into troupe_facts (id, owner, seq, text, at) values (${n + 1}, 7, ${n + 1}, ${one.toUpperCase()}, 1)`.execute(
      db,
    )
    await sql`insert into troupe_fact_terms (rowid, terms) values (${n + 1}, ${`7x${one}`})`.execute(db)
  }
  // What the old index has left in free pages is not the matter here, so the index alone has the words in small letters.
  await sql`vacuum`.execute(db)
  await db.destroy()
  await using store = sqliteStore({ path })
  expect(await store.facts.search(anna, { text: words[40] ?? '', limit: 5 })).toMatchObject([{ seq: 41 }])
  expect(await store.facts.forget(anna, 'all')).toBe(90)
  expect(inFiles(path, words)).toEqual([])
})
