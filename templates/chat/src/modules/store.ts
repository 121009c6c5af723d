import { sqliteStore } from '@troupe/store-sqlite'
import { type Registrations, singleton } from '../app.ts'

/** Conversations are kept in a SQLite file. */
export const storeModule: Registrations<'store'> = {
  store: singleton(() => sqliteStore({ path: process.env.DATABASE_FILE || 'app.db' })).disposer((store) =>
    store[Symbol.asyncDispose](),
  ),
}
