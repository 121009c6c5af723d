import type { Thread, ThreadCommit, ThreadRef, ThreadStore } from '@troupe/kernel'
import {
  type CommitEffect,
  checkCommit,
  commitEffect,
  holdsLease,
  isLive,
  isWaiting,
  jsonText,
  leaseLost,
  stateAfter,
  threadNotFound,
} from '@troupe/kernel/store'
import { sql } from 'kysely'
import { changeWriter } from './change-rows.ts'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import type { WriteCommit, Written } from './commit-at-once.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { entriesText, journalWriter } from './journal-writer.ts'
import { leaseLocker } from './lease-locker.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { processedWriter } from './processed-rows.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { messageFinder } from './thread-path.ts'
import { viewOf } from './thread-view.ts'
import { wholeToken } from './whole-token.ts'

type Changed = Pick<
  Tables['troupe_threads'],
  | 'version'
  | 'state'
  | 'open_calls'
  | 'checkpoint'
  | 'waiting'
  | 'unfinished'
  | 'unfinished_cancel'
  | 'message_seq'
  | 'updated_at'
  | 'released'
>

/** The columns that a commit reads. */
const COLUMNS = [
  'id',
  'seq',
  'version',
  'state',
  'open_calls',
  'checkpoint',
  'waiting',
  'unfinished',
  'unfinished_cancel',
  'message_seq',
  'forked_from',
  'forked_at',
  'updated_at',
  'released',
  'title',
  'metadata',
] as const

type LeaseOfCommit = Pick<Tables['troupe_leases'], 'run_id' | 'cancel'> & { readonly token: number }

type Kept = Pick<Changed, 'open_calls' | 'checkpoint' | 'waiting'>

/** Writes commits to threads. */
export function threadCommit(database: SqlDatabase, writeAtOnce?: WriteCommit): ThreadStore['commit'] {
  const { who, engine, now, write } = database
  const time = leaseTime(database)
  const columns = COLUMNS.map((column) => `t.${column}` as const)
  /** Contract: finds nothing if the lease of the thread has another token; locks the thread before the lease, as everywhere. */
  const lockBoth = compiled((db, { token, now, ...key }: Slots<ThreadKey & { token: number; now: number }>) => {
    const held = threadOf(db, key)
      .innerJoin('troupe_leases as l', (join) =>
        join.onRef('l.owner', '=', 't.owner').onRef('l.thread_id', '=', 't.thread_id'),
      )
      .where('l.token', '=', token)
      .select(columns)
      .select(['l.run_id', 'l.cancel', sql<number>`l.expires_at - ${time.at(now)}`.as('left')])
    return engine.flavour === 'sqlite' ? held : held.forUpdate('t' as never).forShare('l' as never)
  })
  const lockThread = compiled((db, key: Slots<ThreadKey>) => locked(engine, threadOf(db, key).select(columns)))
  const lockLease = leaseLocker(database)
  const release = compiled((db, { token }: Slots<{ token: number }>) =>
    db.deleteFrom('troupe_leases').where('token', '=', token),
  )
  const change = compiled((db, { id, ...changed }: Slots<Omit<Changed, 'state'> & { id: number }>) =>
    db.updateTable('troupe_threads').set(changed).where('id', '=', id),
  )
  // A state may be large, and most commits leave it as it is.
  const changeState = compiled((db, { id, state }: Slots<Pick<Changed, 'state'> & { id: number }>) =>
    db.updateTable('troupe_threads').set({ state }).where('id', '=', id),
  )
  const [knownIn, addMessages, replaceJournal] = [knownMessages(), messageWriter(), journalWriter()]
  const [addChanges, addProcessed] = [changeWriter(), processedWriter()]

  /** The thread of a commit that has no lease any more because its first attempt released it. Contract: throws if the commit was not made. */
  const repeated = async (tx: Queries, ref: ThreadRef, commit: ThreadCommit, token: number) => {
    const key = threadKey(who, ref)
    const [row] = await lockThread(tx, key)
    const [lease] = await lockLease(tx, key)
    const holds: boolean = holdsLease(lease, token)
    if (holds) throw threadNotFound(who, ref.threadId)
    if (!row || !commit.release || row.released !== token) throw leaseLost(who, token)
    return { ...row, run_id: lease && isLive({ expiresAt: lease.left }, 0) ? lease.run_id : null }
  }

  return async (ref, commit, token) => {
    const key = threadKey(who, ref)
    checkCommit(who, commit)
    const texts = messageTexts(who, commit)
    const written = writtenBy(who, commit)
    const journal = commit.journal && entriesText(who, commit.journal.entries)
    const name = { app: key.app, user_id: key.user, thread_id: key.threadId }
    const shownTo = ({ run_id, left }: { readonly run_id: string; readonly left: number }) =>
      !commit.release && isLive({ expiresAt: left }, 0) ? run_id : null
    const columns = columnsAtOnce(commit, written)
    const row = columns && (await writeAtOnce?.(key, commit, { messages: texts, written: columns, journal }, token))
    if (row) return viewOf({ ...row, ...name, run_id: shownTo(row) })
    return write(async (tx) => {
      const [found] = await lockBoth(tx, { ...key, token: wholeToken(token), now: time.now() })
      if (!found) return viewOf({ ...(await repeated(tx, ref, commit, token)), ...name })
      const { run_id, cancel, left: _left, ...row } = found
      const { id, seq, forked_from, forked_at, title, metadata, updated_at: _, ...kept } = row
      const shown = { seq, forked_from, forked_at, title, metadata }
      const known = await knownIn(tx, id, texts.keys())
      const effect = commitEffect(commit, kept.message_seq, (messageId) => known.has(messageId))
      const given = { token, run_id, cancel, updated_at: now() }
      const changed = changedBy(commit, kept, written, effect, given)
      await addMessages(tx, id, effect, texts)
      await addChanges(tx, id, effect.changes)
      await addProcessed(tx, id, effect.processed)
      await replaceJournal(tx, row, journal, changed.updated_at)
      const { state, ...others } = changed
      await change(tx, { id, ...others })
      if (effect.changes.length > 0) await changeState(tx, { id, state })
      if (commit.release) await release(tx, { token })
      return viewOf({ ...changed, ...name, ...shown, run_id: shownTo(found) })
    })
  }
}

/** The columns of a thread after a commit under a lease. */
function changedBy(
  { release }: ThreadCommit,
  kept: Omit<Changed, 'updated_at'>,
  written: Partial<Changed>,
  effect: CommitEffect,
  { token, run_id, cancel, updated_at }: Pick<Changed, 'updated_at'> & LeaseOfCommit,
): Changed {
  return {
    ...kept,
    ...written,
    waiting: waitingAfter(kept, written),
    // The cancel may have come before the journal.
    ...('unfinished' in written && { unfinished_cancel: written.unfinished === run_id ? cancel : null }),
    version: kept.version + 1,
    state: stateText(kept.state, effect),
    message_seq: effect.last,
    released: release ? token : kept.released,
    updated_at,
  }
}

/** The columns that a commit replaces. */
function writtenBy(who: string, { openCalls, checkpoint, journal }: ThreadCommit): Partial<Changed> {
  return {
    ...(openCalls && { open_calls: jsonText(who, 'open calls', openCalls) }),
    ...(checkpoint !== undefined && {
      checkpoint: checkpoint === null ? null : jsonText(who, 'a checkpoint', checkpoint),
    }),
    ...(journal !== undefined && { unfinished: journal && toColumn(journal.runId) }),
  }
}

/** The columns that a commit replaces, if those that it leaves do not matter for whether the thread waits. */
function columnsAtOnce({ openCalls, checkpoint }: ThreadCommit, written: Partial<Changed>): Written | undefined {
  if (openCalls === undefined && checkpoint === undefined) return written
  if (openCalls === undefined || checkpoint === undefined) return undefined
  return { ...written, waiting: isWaiting({ openCalls, ...(checkpoint && { checkpoint }) }) ? 1 : 0 }
}

/** Whether a thread waits for a client after a commit. */
function waitingAfter({ waiting, ...kept }: Kept, written: Partial<Changed>): number {
  if (!('open_calls' in written) && !('checkpoint' in written)) return waiting
  const { open_calls, checkpoint } = { ...kept, ...written }
  const openCalls = fromJson<Thread['openCalls']>(open_calls)
  return isWaiting({ openCalls, ...(checkpoint !== null && { checkpoint: fromJson(checkpoint) }) }) ? 1 : 0
}

function stateText(before: string, { changes }: CommitEffect): string {
  return changes.length === 0 ? before : JSON.stringify(stateAfter(fromJson(before), changes))
}

/** The messages of a commit as JSON, by id. */
function messageTexts(who: string, { messages = [] }: ThreadCommit): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { message } of messages) {
    if (!texts.has(message.id)) texts.set(message.id, jsonText(who, 'a message', message))
  }
  return texts
}

/** Gives those of some ids that a thread has messages of. */
function knownMessages() {
  const find = messageFinder()
  return async (tx: Queries, thread: number, ids: Iterable<string>): Promise<ReadonlySet<string>> => {
    const known = new Set<string>()
    for (const some of statements([...ids].map(toColumn))) {
      for (const { message_id } of await find(tx, { thread, ids: some })) known.add(fromColumn(message_id))
    }
    return known
  }
}

/** Adds the new messages of a commit. */
function messageWriter() {
  const add = compiled((db, rows: Slots<readonly Tables['troupe_messages'][]>) =>
    db.insertInto('troupe_messages').values(rows),
  )
  return async (
    tx: Queries,
    thread: number,
    { messages }: CommitEffect,
    texts: ReadonlyMap<string, string>,
  ): Promise<void> => {
    for (const some of statements(messages)) {
      const rows = some.map(({ seq, runId, message: { id } }) => ({
        thread,
        seq,
        message_id: toColumn(id),
        run_id: toColumn(runId),
        message: texts.get(id) ?? '',
      }))
      await add(tx, rows)
    }
  }
}
