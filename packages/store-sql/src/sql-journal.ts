import type { JournalStore, Json, KernelError } from '@troupe/kernel'
import {
  checkJournal,
  checkMaintenance,
  holdsLease,
  journalNotFound,
  leaseLost,
  threadNotFound,
} from '@troupe/kernel/store'
import { type NotNull, sql } from 'kysely'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import { entriesText } from './journal-writer.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerOf, patient, threadOf } from './rows.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { wholeToken } from './whole-token.ts'

/** A write to the journal of a run, under a lease. */
interface Write {
  readonly run: string
  readonly token: number
  readonly at: number
  readonly entries: string
}

/** The locks of an append: the thread before the lease, as everywhere. Raw, because those of kysely break in an insert with a schema. */
const LOCKS = sql`for key share of t for share of l`

/** Journals in SQL. */
export function sqlJournal(database: SqlDatabase): JournalStore {
  const { who, engine, now, query, statement } = database
  const time = leaseTime(database)
  /** Contract: one statement, so that an append is one round trip; it writes nothing if the lease or the run does not match. */
  const add = compiled((db, { run, token, at, entries, ...key }: Slots<ThreadKey & Write>) => {
    const owned = threadOf(db, key)
      .innerJoin('troupe_leases as l', (join) =>
        join.onRef('l.owner', '=', 't.owner').onRef('l.thread_id', '=', 't.thread_id'),
      )
      .where('t.unfinished', '=', run)
      .where('l.token', '=', token)
    const held = patient(engine, owned)
      .select('t.id')
      .select([sql`${at}`.as('at'), sql`${entries}`.as('entries')])
    return db
      .insertInto('troupe_journal')
      .columns(['thread', 'at', 'entries'])
      .expression(engine.flavour === 'sqlite' ? held : held.modifyEnd(LOCKS))
      .returning('thread')
  })
  const find = compiled((db, key: Slots<ThreadKey>) =>
    ownerOf(db, key)
      .leftJoin('troupe_threads as t', (join) =>
        join.onRef('t.owner', '=', 'o.id').on('t.thread_id', '=', key.threadId),
      )
      .leftJoin('troupe_leases as l', (join) => join.onRef('l.owner', '=', 'o.id').on('l.thread_id', '=', key.threadId))
      .select(['t.id', 'l.token']),
  )
  const entriesOf = compiled((db, key: Slots<ThreadKey>) =>
    threadOf(db, key)
      .innerJoin('troupe_journal as j', 'j.thread', 't.id')
      .select(['t.unfinished', 'j.entries'])
      .orderBy('j.id'),
  )

  /** Why an append has found nothing to append to. */
  const refusal = async (key: ThreadKey, threadId: string, runId: string, token: number): Promise<KernelError> => {
    const [row] = await query((db) => find(db, key))
    const lease = row && row.token !== null ? { token: row.token } : undefined
    if (!holdsLease(lease, token)) return leaseLost(who, token)
    return row?.id === null ? threadNotFound(who, threadId) : journalNotFound(who, runId)
  }

  return {
    async append(ref, runId, entries, token) {
      const key = threadKey(who, ref)
      checkJournal(who, runId, entries)
      const row = { run: toColumn(runId), entries: entriesText(who, entries), token: wholeToken(token), at: now() }
      const [added] = await statement((db) => add(db, { ...key, ...row }))
      if (!added) throw await refusal(key, ref.threadId, runId, token)
    },

    async read(ref) {
      const key = threadKey(who, ref)
      const rows = await query((db) => entriesOf(db, key))
      const unfinished = rows[0]?.unfinished ?? null
      if (unfinished === null) return undefined
      return { runId: fromColumn(unfinished), entries: rows.flatMap(({ entries }) => fromJson<Json[]>(entries)) }
    },

    async lost(wanted) {
      checkMaintenance(who, wanted)
      const { before, limit } = wanted
      const rows = await query((db) =>
        db
          .selectFrom('troupe_threads as t')
          .innerJoin('troupe_journal as j', 'j.thread', 't.id')
          // A left join, so that no database begins with the owners and reads all their threads.
          .leftJoin('troupe_owners as o', 'o.id', 't.owner')
          .leftJoin('troupe_leases as l', (join) =>
            join
              .onRef('l.owner', '=', 't.owner')
              .onRef('l.thread_id', '=', 't.thread_id')
              .on('l.expires_at', '>', time.at(time.now())),
          )
          .where('t.unfinished', 'is not', null)
          .where('l.token', 'is', null)
          .where('j.id', '=', ({ selectFrom }) =>
            selectFrom('troupe_journal as last')
              .whereRef('last.thread', '=', 't.id')
              .select(({ fn }) => fn.max('last.id').as('id')),
          )
          .where('j.at', '<', before)
          .select(['o.app', 'o.user_id', 't.thread_id', 't.unfinished', 'j.at'])
          .$narrowType<{ app: NotNull; user_id: NotNull; unfinished: NotNull }>()
          .orderBy('j.at')
          .orderBy('t.id')
          .limit(limit)
          .execute(),
      )
      return rows.map(({ app, user_id, thread_id, unfinished, at }) => ({
        ref: { app: fromColumn(app), user: fromColumn(user_id), threadId: fromColumn(thread_id) },
        runId: fromColumn(unfinished),
        at,
      }))
    },
  }
}
