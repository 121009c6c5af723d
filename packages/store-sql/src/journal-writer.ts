import type { Json } from '@troupe/kernel'
import { jsonText } from '@troupe/kernel/store'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { Tables } from './schema.ts'

/** Entries of a journal as one column. */
export function entriesText(who: string, entries: readonly Json[]): string {
  return jsonText(who, 'journal entries', entries)
}

/** Begins the journal of a locked thread in place of any other, or removes it with `null`. Contract: a journal without entries has a row too, for its time. */
export function journalWriter() {
  const remove = compiled((db, { thread }: Slots<{ thread: number }>) =>
    db.deleteFrom('troupe_journal').where('thread', '=', thread),
  )
  const add = compiled((db, row: Slots<Omit<Tables['troupe_journal'], 'id'>>) =>
    db.insertInto('troupe_journal').values(row),
  )
  return async (
    tx: Queries,
    { id: thread, unfinished }: { readonly id: number; readonly unfinished: string | null },
    entries: string | null | undefined,
    at: number,
  ): Promise<void> => {
    if (entries === undefined) return
    // What is left of a former one is removed too: see `removeJournal` of `commit-at-once.ts`.
    if (unfinished !== null || entries !== null) await remove(tx, { thread })
    if (entries !== null) await add(tx, { thread, at, entries })
  }
}
