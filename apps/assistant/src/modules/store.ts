import type { Store } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { asFunction, type Resolver } from 'awilix'
import type { Config } from '../config.ts'

/** Contract: whoever ends the app closes it last; see `Assistant`. */
export const storeModule: { readonly store: Resolver<Store> } = {
  store: asFunction(
    ({ config: { database } }: { config: Config }): Store =>
      database.type === 'sqlite' ? sqliteStore({ path: database.path }) : postgresStore({ url: database.url }),
  ).singleton(),
}
