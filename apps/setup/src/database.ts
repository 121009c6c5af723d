import type { Store } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'

/** The database for conversations. */
export type Database =
  | { readonly type: 'sqlite'; readonly path: string }
  | { readonly type: 'postgres'; readonly url: string }

/** Reads the choice: PostgreSQL if there is a `DATABASE_URL`, else the SQLite file `TROUPE_DB`. */
export function readDatabase(env: NodeJS.ProcessEnv): Database {
  return env.DATABASE_URL
    ? { type: 'postgres', url: env.DATABASE_URL }
    : { type: 'sqlite', path: env.TROUPE_DB || 'troupe.db' }
}

/** Makes the store of a database. Contract: connects with the first use; the caller closes the store. */
export function databaseStore(database: Database): Store {
  return database.type === 'sqlite' ? sqliteStore({ path: database.path }) : postgresStore({ url: database.url })
}
