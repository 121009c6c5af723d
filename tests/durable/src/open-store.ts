import type { FullStore } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'

/** Where the store of a test is. */
export type StorePlace = { readonly url: string; readonly schema: string } | { readonly path: string }

/** Opens the store of a test. */
export async function openStore(place: StorePlace): Promise<FullStore> {
  if ('path' in place) return sqliteStore(place)
  const store = postgresStore({ ...place, prepareStatements: true })
  await store.ready()
  return store
}
