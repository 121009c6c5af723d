import type { CommitEffect } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { unindexed } from './thread-path.ts'

/** Finds those of some foreign ids that a thread has processed; all of them are columns. */
export function processedFinder(): (
  db: Queries,
  wanted: { readonly thread: number; readonly ids: readonly string[] },
) => Promise<readonly { readonly foreign_id: string }[]> {
  return compiled((db, { thread, ids }: Slots<{ thread: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_segments as s')
      .innerJoin('troupe_processed as p', 'p.thread', 's.source')
      .where('s.thread', '=', thread)
      .where('p.foreign_id', 'in', ids)
      // What counts for the last message of a part belongs to the part that follows.
      .where(unindexed('p.seq'), '>=', sql.ref<number>('s.after'))
      .where(unindexed('p.seq'), '<', sql.ref<number>('s.upto'))
      .select('p.foreign_id'),
  )
}

/** Adds the processed ids that a thread does not have yet. */
export function processedWriter(): (
  tx: Queries,
  thread: number,
  processed: CommitEffect['processed'],
) => Promise<void> {
  const find = processedFinder()
  const add = compiled((db, rows: Slots<readonly Tables['troupe_processed'][]>) =>
    db.insertInto('troupe_processed').values(rows),
  )
  return async (tx, thread, processed) => {
    for (const some of statements(processed)) {
      const found = await find(tx, { thread, ids: some.map(({ id }) => toColumn(id)) })
      const known = new Set(found.map(({ foreign_id }) => fromColumn(foreign_id)))
      const rows = some
        .filter(({ id }) => !known.has(id))
        .map(({ id, seq }) => ({ thread, foreign_id: toColumn(id), seq }))
      if (rows.length > 0) await add(tx, rows)
    }
  }
}
