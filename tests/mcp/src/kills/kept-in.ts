import { join } from 'node:path'
import type { Store } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'

/** Where processes that take over from each other keep their threads. */
export type KeptIn =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** The three arguments that tell a process where; a database file is in the folder. */
export function placeOf(kept: KeptIn, folder: string): readonly string[] {
  return kept.kind === 'sqlite' ? [kept.kind, join(folder, 'chat.db'), '-'] : [kept.kind, kept.url, kept.schema]
}

/** Opens the store that these arguments name. */
export function storeAt([kind = '', where = '', schema = '']: readonly string[]): Store {
  return kind === 'sqlite' ? sqliteStore({ path: where }) : postgresStore({ url: where, schema })
}
