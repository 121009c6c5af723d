import type { Page } from '@troupe/kernel'
import { type Expression, type RawBuilder, sql } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import type { ThreadKey } from './thread-key.ts'

/** Where the last part of a thread ends. */
export const OPEN_END: number = Number.MAX_SAFE_INTEGER

/** A part of a thread: the messages of `source` after `after` and up to `upto`. */
export type Segment = Omit<Tables['troupe_segments'], 'thread'>

/** Reads pages of messages. Contract: one statement, because the parts of a thread move when another thread is deleted. */
export function messagePages(): (
  db: Queries,
  key: ThreadKey,
  page: Required<Page>,
) => Promise<readonly Pick<Tables['troupe_messages'], 'seq' | 'run_id' | 'message'>[]> {
  // The sequences of a thread have no gaps, so that a page has bounds, and no database reads more than the page.
  const oldest = compiled((db, { after, upTo, ...key }: Slots<ThreadKey & { after: number; upTo: number }>) =>
    pageOf(db, key, after, upTo).orderBy('s.upto').orderBy('m.seq'),
  )
  const newest = compiled((db, { after, limit, ...key }: Slots<ThreadKey & { after: number; limit: number }>) => {
    const end = lesser(sql<number>`t.message_seq + 1`, after)
    // The bounds come from two tables: if PostgreSQL joins them with the messages at once, it reads the whole thread.
    return db
      .with(
        (cte) => cte('part').materialized(),
        (cte) =>
          threadOf(cte as unknown as Queries, key)
            .innerJoin('troupe_segments as s', 's.thread', 't.id')
            .select([
              's.source',
              greater(sql.ref<number>('s.after'), sql`${end} - ${limit} - 1`).as('after'),
              lesser(sql.ref<number>('s.upto'), sql`${end} - 1`).as('upto'),
            ]),
      )
      .selectFrom('part')
      .innerJoin('troupe_messages as m', (join) =>
        join.onRef('m.thread', '=', 'part.source').onRef('m.seq', '>', 'part.after').onRef('m.seq', '<=', 'part.upto'),
      )
      .select(['m.seq', 'm.run_id', 'm.message'])
      .orderBy('m.seq', 'desc')
  })
  return (db, key, { after, limit, newestFirst }) =>
    newestFirst
      ? newest(db, { ...key, after, limit })
      : oldest(db, { ...key, after, upTo: Math.min(Math.max(after, 0) + limit, OPEN_END) })
}

function pageOf(db: Queries, key: Slots<ThreadKey>, after: Expression<number>, upTo: Expression<number>) {
  return threadOf(db, key)
    .innerJoin('troupe_segments as s', 's.thread', 't.id')
    .innerJoin('troupe_messages as m', (join) =>
      join
        .onRef('m.thread', '=', 's.source')
        .on('m.seq', '>', greater(sql.ref<number>('s.after'), after))
        .on('m.seq', '<=', lesser(sql.ref<number>('s.upto'), upTo)),
    )
    .select(['m.seq', 'm.run_id', 'm.message'])
}

/** The greater of two numbers. Contract: one bound for each end of an index, because SQLite uses only one. */
function greater(one: Expression<number>, other: Expression<number>): RawBuilder<number> {
  return sql`case when ${one} > ${other} then ${one} else ${other} end`
}

/** The lesser of two numbers, for the other end. */
export function lesser(one: Expression<number>, other: Expression<number>): RawBuilder<number> {
  return sql`case when ${one} < ${other} then ${one} else ${other} end`
}

/** Finds messages of a thread by their ids. */
export function messageFinder(): (
  db: Queries,
  wanted: { readonly thread: number; readonly ids: readonly string[] },
) => Promise<readonly Pick<Tables['troupe_messages'], 'message_id' | 'seq'>[]> {
  return compiled((db, { thread, ids }: Slots<{ thread: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_segments as s')
      .innerJoin('troupe_messages as m', 'm.thread', 's.source')
      .where('s.thread', '=', thread)
      .where('m.message_id', 'in', ids)
      .where(unindexed('m.seq'), '>', sql.ref<number>('s.after'))
      .where(unindexed('m.seq'), '<=', sql.ref<number>('s.upto'))
      .select(['m.message_id', 'm.seq']),
  )
}

/** Says which of some ids messages of a thread have. */
export function knownIds(): (db: Queries, key: ThreadKey, ids: readonly string[]) => Promise<readonly string[]> {
  const find = compiled((db, { ids, ...key }: Slots<ThreadKey & { ids: readonly string[] }>) =>
    threadOf(db, key)
      .innerJoin('troupe_segments as s', 's.thread', 't.id')
      .innerJoin('troupe_messages as m', 'm.thread', 's.source')
      .where('m.message_id', 'in', ids)
      .where(unindexed('m.seq'), '>', sql.ref<number>('s.after'))
      .where(unindexed('m.seq'), '<=', sql.ref<number>('s.upto'))
      .select('m.message_id'),
  )
  return async (db, key, ids) => {
    const known: string[] = []
    for (const some of statements(ids.map(toColumn))) {
      for (const { message_id } of await find(db, { ...key, ids: some })) known.push(fromColumn(message_id))
    }
    return known
  }
}

/** The parts of a thread in order. */
export function segmentReader(): (db: Queries, of: { readonly thread: number }) => Promise<readonly Segment[]> {
  return compiled((db, { thread }: Slots<{ thread: number }>) =>
    db.selectFrom('troupe_segments').select(['source', 'after', 'upto']).where('thread', '=', thread).orderBy('upto'),
  )
}

/** A sequence that is only compared. Contract: a database would look rows up by it, and read a whole thread, where there is a better index. */
export function unindexed(column: string): RawBuilder<number> {
  return sql`+${sql.ref(column)}`
}
