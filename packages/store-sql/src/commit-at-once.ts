import type { ThreadCommit } from '@troupe/kernel'
import { commitEffect } from '@troupe/kernel/store'
import { type Expression, type QueryCreator, type Selectable, type SqlBool, sql } from 'kysely'
import { toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { patient, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { arrayText, textsOf } from './text-array.ts'
import type { ThreadKey } from './thread-key.ts'
import { unindexed } from './thread-path.ts'
import { wholeToken } from './whole-token.ts'

type Thread = Selectable<Tables['troupe_threads']>
/** The columns that a commit replaces; those that it leaves are absent. */
export type Written = Partial<Pick<Thread, 'open_calls' | 'checkpoint' | 'waiting' | 'unfinished'>>

/** What a commit writes, as columns. */
export interface CommitTexts {
  /** The JSON of its messages, by id. */
  readonly messages: ReadonlyMap<string, string>
  readonly written: Written
  /** The first entries of a new journal, or null to remove it; undefined leaves it. */
  readonly journal: string | null | undefined
}

/** The values of the statement; those of a part that a commit does not have are absent, and so is the part. */
type Given = Slots<ThreadKey & { readonly token: number; readonly now: number; readonly at: number }> &
  Partial<Slots<Parts>>
type Parts = Required<Written> & {
  readonly ids: string
  readonly runs: string
  readonly texts: string
  readonly count: number
  readonly foreign: string
  readonly places: string
  readonly entries: string
  readonly released: number
}

/** The locked thread and its lease, as the statement reads them. */
type Held = Pick<Thread, 'id' | 'version' | 'message_seq'> & {
  readonly run_id: string
  readonly cancel: string | null
  readonly left: number
}
type Creator = QueryCreator<Tables & { held: Held }>

/** The thread after the commit, and the lease that it had. */
type CommittedRow = Pick<
  Thread,
  | 'seq'
  | 'version'
  | 'state'
  | 'open_calls'
  | 'checkpoint'
  | 'waiting'
  | 'unfinished'
  | 'updated_at'
  | 'forked_from'
  | 'forked_at'
  | 'title'
  | 'metadata'
> &
  Pick<Held, 'run_id' | 'left'>

const SHOWN = [
  't.seq',
  't.version',
  't.state',
  't.open_calls',
  't.checkpoint',
  't.waiting',
  't.unfinished',
  't.updated_at',
  't.forked_from',
  't.forked_at',
  't.title',
  't.metadata',
] as const

/** Writes a commit, unless more than one statement is needed. */
export type WriteCommit = (
  key: ThreadKey,
  commit: ThreadCommit,
  texts: CommitTexts,
  token: number,
) => Promise<CommittedRow | undefined>

/**
 * Makes commits of one statement, for a database whose statements are round trips.
 * Contract: gives nothing, and has changed nothing, if the transaction of several statements has to decide: the lease is not there, the thread has
 * one of the messages, another writer was in between, or the new state depends on the stored one. A row that is not locked is seen as it was when the
 * statement began, before it waited for its locks; what must not be missed is found by a unique index.
 */
export function commitAtOnce(database: SqlDatabase): WriteCommit {
  const { engine, now, query } = database
  const time = leaseTime(database)

  const held = (db: Queries, given: Given) => {
    const found = threadOf(db, given)
      .innerJoin('troupe_leases as l', (join) =>
        join.onRef('l.owner', '=', 't.owner').onRef('l.thread_id', '=', 't.thread_id'),
      )
      .where('l.token', '=', given.token)
    const known = given.ids ? found.where(sharesNone(db, given, given.ids)) : found
    return (
      patient(engine, known)
        .select(['t.id', 't.version', 't.message_seq', 'l.run_id', 'l.cancel'])
        .select(sql<number>`l.expires_at - ${time.at(given.now)}`.as('left'))
        // Raw, because those of kysely break in a statement with a schema.
        .modifyEnd(sql`for update of t for share of l`)
    )
  }

  const write = compiled((db, given: Given) => {
    const locked = db.with('held', (cte) => held(cte as unknown as Queries, given))
    let creator = locked as unknown as Creator
    for (const part of [addMessages, addProcessed, removeJournal, addJournal, release]) {
      const query = part(given)
      if (query) creator = creator.with(part.name, query as never) as unknown as Creator
    }
    return updated(creator, given)
  })

  return async (key, commit, texts, token) => {
    const effect = commitEffect(commit, 0, () => false)
    if (effect.changes.length > 0) return undefined
    const { messages, processed, last } = effect
    const at = now()
    const given = {
      ...key,
      token: wholeToken(token),
      now: time.now(),
      at,
      ...texts.written,
      ...(messages.length > 0 && {
        ids: arrayText(messages.map(({ message }) => toColumn(message.id))),
        runs: arrayText(messages.map(({ runId }) => toColumn(runId))),
        texts: arrayText(messages.map(({ message }) => texts.messages.get(message.id) ?? '')),
        count: last,
      }),
      ...(processed.length > 0 && {
        foreign: arrayText(processed.map(({ id }) => toColumn(id))),
        places: `{${processed.map(({ seq }) => seq)}}`,
      }),
      ...(texts.journal && { entries: texts.journal }),
      ...(commit.release && { released: wholeToken(token) }),
    }
    return query(async (db) => {
      try {
        const [row] = await write(db, given)
        return row
      } catch (error) {
        if (engine.lostRace(error)) return undefined
        throw error
      }
    })
  }
}

type Part = ((creator: Creator) => unknown) | undefined

/**
 * Whether the thread shares none of some messages with others; that it has one of its own, a unique index finds.
 * Without the condition on `source`, a plan for threads of average length may read all of a long one.
 */
function sharesNone(db: Queries, given: Given, ids: Expression<string>): Expression<SqlBool> {
  const known = threadOf(db, given)
    .innerJoin('troupe_segments as s', 's.thread', 't.id')
    .innerJoin('troupe_messages as m', 'm.thread', 's.source')
    .whereRef('s.source', '<>', 't.id')
    .where('m.message_id', '=', sql<string>`any(${textsOf(ids)})`)
    .where(unindexed('m.seq'), '>', sql.ref<number>('s.after'))
    .where(unindexed('m.seq'), '<=', sql.ref<number>('s.upto'))
    .select('m.seq')
  return sql`not exists ${known}`
}

function addMessages({ ids, runs, texts }: Given): Part {
  if (!ids || !runs || !texts) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_messages')
      .columns(['thread', 'seq', 'message_id', 'run_id', 'message'])
      .expression(({ selectFrom }) =>
        selectFrom([
          'held as h',
          sql<Pick<Tables['troupe_messages'], 'message_id' | 'run_id' | 'message'> & { readonly at: number }>`
            unnest(${textsOf(ids)}, ${textsOf(runs)}, ${textsOf(texts)}) with ordinality
          `.as<'m'>(sql`m (message_id, run_id, message, at)`),
        ]).select(['h.id', sql<number>`h.message_seq + m.at`.as('seq'), 'm.message_id', 'm.run_id', 'm.message']),
      )
}

function addProcessed({ foreign, places }: Given): Part {
  if (!foreign || !places) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_processed')
      .columns(['thread', 'foreign_id', 'seq'])
      .expression(({ selectFrom, not, exists }) =>
        selectFrom([
          'held as h',
          sql<{ readonly foreign_id: string; readonly seq: number }>`
            unnest(${textsOf(foreign)}, cast(${places} as bigint[]))
          `.as<'n'>(sql`n (foreign_id, seq)`),
        ])
          .select(['h.id', 'n.foreign_id', sql<number>`h.message_seq + n.seq`.as('seq')])
          .where(
            not(
              exists(
                selectFrom('troupe_segments as s')
                  .innerJoin('troupe_processed as p', 'p.thread', 's.source')
                  .whereRef('s.thread', '=', 'h.id' as never)
                  .whereRef('p.foreign_id', '=', 'n.foreign_id' as never)
                  .where(unindexed('p.seq'), '>=', sql.ref<number>('s.after'))
                  .where(unindexed('p.seq'), '<', sql.ref<number>('s.upto'))
                  .select('p.seq'),
              ),
            ),
          ),
      )
      .onConflict((conflict) => conflict.columns(['thread', 'foreign_id']).doNothing())
}

/** Contract: an append that was under way when the journal ended may have left a row that the statement did not see; the next journal removes it. */
function removeJournal({ unfinished }: Given): Part {
  if (!unfinished) return undefined
  return (creator) => creator.deleteFrom('troupe_journal as j').using('held as h').whereRef('j.thread', '=', 'h.id')
}

function addJournal({ entries, at }: Given): Part {
  if (!entries) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_journal')
      .columns(['thread', 'at', 'entries'])
      .expression(({ selectFrom }) =>
        selectFrom('held as h').select(['h.id', sql`${at}`.as('at'), sql`${entries}`.as('entries')]),
      )
}

function release({ released, token }: Given): Part {
  if (!released) return undefined
  return (creator) => creator.deleteFrom('troupe_leases as l').using('held as h').where('l.token', '=', token)
}

function updated(creator: Creator, { at, count, released, open_calls, checkpoint, waiting, unfinished }: Given) {
  return creator
    .updateTable('troupe_threads as t')
    .from('held as h')
    .whereRef('t.id', '=', 'h.id')
    .set({
      version: sql`h.version + 1`,
      updated_at: at,
      ...(count && { message_seq: sql`h.message_seq + ${count}` }),
      ...(released && { released }),
      ...(open_calls && { open_calls }),
      ...(checkpoint && { checkpoint }),
      ...(waiting && { waiting }),
      // The cancel may have come before the journal.
      ...(unfinished && {
        unfinished,
        unfinished_cancel: sql`case when ${unfinished} = h.run_id then h.cancel end`,
      }),
    })
    .returning([...SHOWN, 'h.run_id', 'h.left'])
}
