import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { expect, test } from 'vitest'
import { frozenStatements } from './first-version.fixture.ts'
import { MIGRATIONS } from './migrations.ts'
import type { Tables } from './schema.ts'

const DIALECTS = {
  sqlite: {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
} as const

test.each(['sqlite', 'postgres'] as const)(
  'the first migration makes the tables of the first release (%s)',
  async (flavour) => {
    const made: string[] = []
    const db = new Kysely<Tables>({ dialect: DIALECTS[flavour], log: ({ query }) => void made.push(query.sql) })
    await MIGRATIONS[0]?.(db, flavour)
    const [, ...frozen] = frozenStatements(`first-version.${flavour}`)
    expect(made).toEqual(frozen)
  },
)
