import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import * as fc from 'fast-check'
import {
  type Compilable,
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  SqliteDialect,
  SqliteQueryCompiler,
} from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import { MIGRATIONS } from './migrations.ts'
import { ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import type { ThreadKey } from './thread-key.ts'

/** Every query that was run. */
let ran: CompiledQuery[] = []
const log = ({ query }: { readonly query: CompiledQuery }) => void ran.push(query)

/** A database in memory with our tables. */
async function sqlite(): Promise<Queries> {
  const memory = new DatabaseSync(':memory:')
  const prepare = (sql: string) => {
    const all = (parameters: readonly unknown[]) => memory.prepare(sql).all(...(parameters as SQLInputValue[]))
    return { reader: true, all, run: () => ({ changes: 0, lastInsertRowid: 0 }), iterate: () => [].values() }
  }
  const database = { prepare, close: () => memory.close() }
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }), log })
  for (const migration of MIGRATIONS) await migration(db, 'sqlite')
  ran = []
  return db
}

/** One that is only asked, and knows nothing. */
function silent(compiler: QueryCompiler): Queries {
  const dialect = {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => compiler,
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  }
  return new Kysely<Tables>({ dialect, log })
}

type OwnerRow = Pick<Tables['troupe_owners'], 'app' | 'user_id' | 'thread_seq'>
const addOwners = () => compiled((db, rows: Slots<readonly OwnerRow[]>) => db.insertInto('troupe_owners').values(rows))
const owner = (user_id: string): OwnerRow => ({ app: 'app', user_id, thread_seq: 0 })

/** Owners by name, and how often that was built. */
function finder() {
  const built = { times: 0 }
  const find = compiled((db, { app, users }: Slots<{ app: string; users: readonly string[] }>) => {
    built.times++
    return db.selectFrom('troupe_owners').select('user_id').where('app', '=', app).where('user_id', 'in', users)
  })
  return { built, find }
}

let db: Queries
beforeEach(async () => {
  db = await sqlite()
})

describe('compiled', () => {
  it('builds once and brings the values of each call', async () => {
    await addOwners()(db, [owner('anna'), owner('bob')])
    const { built, find } = finder()
    expect(await find(db, { app: 'app', users: ['anna'] })).toEqual([{ user_id: 'anna' }])
    expect(await find(db, { app: 'app', users: ['bob'] })).toEqual([{ user_id: 'bob' }])
    expect(await find(db, { app: 'another', users: ['bob'] })).toEqual([])
    await db.transaction().execute(async (tx) => {
      expect(await find(tx, { app: 'app', users: ['anna'] })).toEqual([{ user_id: 'anna' }])
    })
    expect(built.times).toBe(1)
  })

  it('builds again for a list of another length', async () => {
    await addOwners()(db, [owner('anna'), owner('bob')])
    const { built, find } = finder()
    for (let i = 0; i < 2; i++) {
      expect(await find(db, { app: 'app', users: ['bob'] })).toEqual([{ user_id: 'bob' }])
      expect(await find(db, { app: 'app', users: ['bob', 'anna', 'nobody'] })).toHaveLength(2)
    }
    expect(built.times).toBe(2)
  })

  it('gives values to their names, in whatever order a call has them', async () => {
    const [add, find] = [
      addOwners(),
      compiled((db, key: Slots<Omit<ThreadKey, 'threadId'>>) => ownerOf(db, key).select('o.thread_seq')),
    ]
    await add(db, [{ app: 'app', user_id: 'anna', thread_seq: 1 }])
    await add(db, [{ thread_seq: 2, user_id: 'bob', app: 'app' }])
    expect(await find(db, { app: 'app', user: 'anna' })).toEqual([{ thread_seq: 1 }])
    expect(await find(db, { user: 'bob', app: 'app' })).toEqual([{ thread_seq: 2 }])
  })

  it('keeps texts of two queries apart, however alike their values are', async () => {
    await addOwners()(db, [owner('anna'), { ...owner('bob'), thread_seq: 7 }])
    const up = compiled((db, { seq }: Slots<{ seq: number }>) =>
      db.selectFrom('troupe_owners').select('user_id').where('thread_seq', '>', seq),
    )
    const down = compiled((db, { seq }: Slots<{ seq: number }>) =>
      db.selectFrom('troupe_owners').select('user_id').where('thread_seq', '<', seq),
    )
    expect([await up(db, { seq: 5 }), await down(db, { seq: 5 })]).toEqual([
      [{ user_id: 'bob' }],
      [{ user_id: 'anna' }],
    ])
  })

  it('writes whatever rows it is given, as many as there are, nulls too', async () => {
    const text = fc.option(fc.string({ unit: fc.constantFrom('a', "'", '"', '?', ':', '$1', '\\') }))
    const calls = fc.array(
      fc.array(fc.record({ checkpoint: text, state: fc.string() }), { minLength: 1, maxLength: 4 }),
    )
    const add = compiled((db, rows: Slots<readonly Omit<Tables['troupe_threads'], 'id'>[]>) =>
      db.insertInto('troupe_threads').values(rows),
    )
    await addOwners()(db, [owner('anna')])
    const counters = { owner: 1, version: 0, message_seq: 0, run_seq: 0, call_seq: 0 }
    const empty = {
      open_calls: '[]',
      unfinished: null,
      unfinished_cancel: null,
      released: null,
      waiting: 0,
      base: null,
      forked_from: null,
      forked_at: null,
      title: null,
      metadata: null,
    }
    await fc.assert(
      fc.asyncProperty(calls, async (calls) => {
        await db.deleteFrom('troupe_threads').execute()
        let seq = 0
        for (const rows of calls) {
          await add(
            db,
            rows.map((row) => ({
              ...counters,
              ...empty,
              seq: ++seq,
              thread_id: `${seq}`,
              updated_at: seq / 2,
              ...row,
            })),
          )
        }
        const written = db.selectFrom('troupe_threads').select(['checkpoint', 'state']).orderBy('seq')
        expect(await written.execute()).toEqual(calls.flat())
      }),
    )
  })

  it('forgets the oldest of too many texts', async () => {
    const { built, find } = finder()
    const ask = (length: number) => find(db, { app: 'app', users: Array.from({ length }, (_, i) => `${i}`) })
    for (let length = 1; length <= 33; length++) await ask(length)
    expect(built.times).toBe(33)
    await ask(33)
    await ask(2)
    expect(built.times).toBe(33)
    await ask(1)
    expect(built.times).toBe(34)
  })

  it('refuses what would end up in the wrong place', async () => {
    const { find } = finder()
    await expect(find(db, { app: undefined as never, users: [] })).rejects.toThrow('as app, got undefined')
    await expect(find(db, { app: 'app', users: [undefined as never] })).rejects.toThrow('as users, got undefined')
    const add = addOwners()
    const { thread_seq, ...less } = owner('bob')
    const turned = { user_id: 'bob', app: 'app', thread_seq }
    const more = { ...owner('bob'), id: 7 }
    for (const wrong of [less as OwnerRow, turned, more]) {
      await expect(add(db, [owner('anna'), wrong])).rejects.toThrow(
        'expected rows with the columns app,user_id,thread_seq',
      )
    }
    expect(ran).toEqual([])
  })

  it('has builders that cannot decide or count by a value', () => {
    const owners = (db: Queries) => db.selectFrom('troupe_owners').select('id')
    // @ts-expect-error: the value is not known yet
    compiled((db, { limit }: Slots<{ limit: number }>) => owners(db).limit(limit + 1))
    // @ts-expect-error: a number is not an app
    compiled((db, { id }: Slots<{ id: number }>) => owners(db).where('app', '=', id))
  })
})

/** A query, and values for it. */
interface Asked<Values> {
  readonly values: Values
  build(db: Queries, slots: Slots<Values>): Compilable<unknown>
}
const asked = <Values>(values: Values, build: Asked<Values>['build']) => ({ values, build }) as Asked<never>

describe('compiled asks what kysely asks when it has the values themselves', () => {
  const key = { app: 'app', user: 'anna' }
  const page = { ...key, threadId: 'thread-1', after: 3, limit: 5 }
  const tokens = {
    input_tokens: 1,
    output_tokens: 2,
    reasoning_tokens: null,
    cached_input_tokens: 0,
    cache_write_tokens: 1,
    cost: 0.5,
  }
  const usage = { thread: 1, run_id: 'r', model: 'm', ...tokens, finish_reason: null, message_id: null }
  const rows = [null, 'u'].map((request_id, i) => ({ ...usage, span_id: `s${i}`, request_id }))

  it.each([
    [
      'a page',
      asked(page, (db, { after, limit, ...key }) =>
        threadOf(db, key)
          .innerJoin('troupe_runs as r', 'r.thread', 't.id')
          .where('r.seq', '>', after)
          .selectAll('r')
          .limit(limit),
      ),
    ],
    [
      'a join by a value, beside constants',
      asked({ now: 1 }, (db, { now }) =>
        db
          .selectFrom('troupe_threads as t')
          .leftJoin('troupe_leases as l', (join) => join.onRef('l.owner', '=', 't.owner').on('l.expires_at', '>', now))
          .where('l.token', 'is', null)
          .where('t.version', '=', 0)
          .select('t.id'),
      ),
    ],
    [
      'an update to null, with a query in it',
      asked({ ...key, cancel: null as string | null }, (db, { cancel, ...key }) =>
        db
          .updateTable('troupe_leases')
          .set({ cancel })
          .where('owner', '=', ownerOf(db, key).select('o.id'))
          .returning('token'),
      ),
    ],
    [
      'an insert of several rows',
      asked(rows, (db, rows) =>
        db
          .insertInto('troupe_usage')
          .values(rows)
          .onConflict((conflict) => conflict.columns(['thread', 'span_id']).doNothing()),
      ),
    ],
    [
      'a list',
      asked({ ids: ['a', 'b', 'c'] as readonly string[] }, (db, { ids }) =>
        db.deleteFrom('troupe_runs').where('run_id', 'in', ids),
      ),
    ],
  ])('%s', async (_, { values, build }) => {
    for (const db of [silent(new SqliteQueryCompiler()), silent(new PostgresQueryCompiler()).withSchema('chat')]) {
      const { sql, parameters } = build(db, values).compile()
      const ask = compiled<never, unknown>(build)
      await ask(db, values)
      await ask(db, values)
      const same = expect.objectContaining({ sql, parameters })
      expect(ran).toEqual([same, same])
      ran = []
    }
  })
})

describe('sure', () => {
  it('gives the first row, and fails where there is none', () => {
    expect(sure([1, 2])).toBe(1)
    expect(() => sure([])).toThrow(TypeError)
  })
})
