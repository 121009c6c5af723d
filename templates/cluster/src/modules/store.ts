import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { type Registrations, singleton } from '../app.ts'

/** PostgreSQL if there is a `DATABASE_URL`, else a SQLite file. */
export const storeModule: Registrations<'store'> = {
  // `closeParts` closes it last.
  store: singleton(({ config: { database } }) =>
    database.type === 'sqlite'
      ? sqliteStore({ path: database.path })
      : postgresStore({ url: database.url, listen: database.direct ?? true }),
  ),
}
