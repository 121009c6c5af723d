import type { ThreadCommit, ThreadStore } from '@troupe/kernel'
import { checkCommit, holdsLease, isLive, jsonText, leaseLost, threadNotFound } from '@troupe/kernel/store'
import { fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { entriesText, journalWriter } from './journal-writer.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { viewOf } from './thread-view.ts'

type MessageRow = Omit<Tables['troupe_messages'], 'thread' | 'seq'>
type Changed = Pick<
  Tables['troupe_threads'],
  'version' | 'state' | 'open_calls' | 'checkpoint' | 'unfinished' | 'unfinished_cancel' | 'message_seq' | 'updated_at'
>

/** Writes commits to threads. */
export function threadCommit({ who, engine, now, write }: SqlDatabase): ThreadStore['commit'] {
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(
      engine,
      threadOf(db, key).select([
        't.id',
        't.seq',
        't.version',
        't.state',
        't.open_calls',
        't.checkpoint',
        't.unfinished',
        't.unfinished_cancel',
        't.message_seq',
      ]),
    ),
  )
  const lockLease = compiled((db, key: Slots<ThreadKey>) =>
    locked(
      engine,
      ownerOf(db, key)
        .innerJoin('troupe_leases as t', 't.owner', 'o.id')
        .where('t.thread_id', '=', key.threadId)
        .select(['t.token', 't.run_id', 't.expires_at', 't.cancel']),
      'share',
    ),
  )
  const change = compiled((db, { id, ...changed }: Slots<Changed & { id: number }>) =>
    db.updateTable('troupe_threads').set(changed).where('id', '=', id),
  )
  const [addMessages, addProcessed, replaceJournal] = [messageWriter(), processedWriter(), journalWriter()]

  return async (ref, commit, token) => {
    const key = threadKey(who, ref)
    checkCommit(who, commit)
    const messages = messageRows(who, commit)
    const written = writtenBy(who, commit)
    const processed = [...new Set(commit.processed?.map(toColumn))]
    const journal = commit.journal && entriesText(who, commit.journal.entries)
    return write(async (tx) => {
      const [row] = await lockThread(tx, key)
      // A separate statement reads the lease, because a new holder may have taken it while this one waited for the thread.
      const [lease] = await lockLease(tx, key)
      if (!holdsLease(lease, token)) throw leaseLost(who, token)
      if (!row) throw threadNotFound(who, ref.threadId)
      const { id, seq, ...kept } = row
      const changed: Changed = {
        ...kept,
        ...written,
        // The cancel may have come before the journal.
        ...('unfinished' in written && {
          unfinished_cancel: written.unfinished === lease.run_id ? lease.cancel : null,
        }),
        version: kept.version + 1,
        state: stateAfter(kept.state, commit),
        message_seq: await addMessages(tx, id, kept.message_seq, messages),
        updated_at: now(),
      }
      await addProcessed(tx, id, processed)
      await replaceJournal(tx, row, journal, changed.updated_at)
      await change(tx, { id, ...changed })
      const run_id = isLive({ expiresAt: lease.expires_at }, now()) ? lease.run_id : null
      return viewOf({ ...changed, app: key.app, user_id: key.user, thread_id: key.threadId, seq, run_id })
    })
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

function stateAfter(before: string, { set, removed = [] }: ThreadCommit): string {
  if (!set && removed.length === 0) return before
  const state = { ...fromJson<Record<string, unknown>>(before), ...set }
  for (const key of removed) delete state[key]
  return JSON.stringify(state)
}

/** The messages of a commit as rows, each id once. */
function messageRows(who: string, { messages = [] }: ThreadCommit): readonly MessageRow[] {
  const rows = new Map<string, MessageRow>()
  for (const { runId, message } of messages) {
    const message_id = toColumn(message.id)
    if (rows.has(message_id)) continue
    rows.set(message_id, { message_id, run_id: toColumn(runId), message: jsonText(who, 'a message', message) })
  }
  return [...rows.values()]
}

/** Adds the messages that a thread does not have yet, and returns its last sequence. */
function messageWriter() {
  const find = compiled((db, { thread, ids }: Slots<{ thread: number; ids: readonly string[] }>) =>
    db.selectFrom('troupe_messages').select('message_id').where('thread', '=', thread).where('message_id', 'in', ids),
  )
  const add = compiled((db, rows: Slots<readonly Tables['troupe_messages'][]>) =>
    db.insertInto('troupe_messages').values(rows),
  )
  return async (tx: Queries, thread: number, last: number, messages: readonly MessageRow[]): Promise<number> => {
    let seq = last
    for (const some of statements(messages)) {
      const known = await find(tx, { thread, ids: some.map(({ message_id }) => message_id) })
      const there = new Set(known.map(({ message_id }) => message_id))
      const fresh = some.filter(({ message_id }) => !there.has(message_id))
      if (fresh.length === 0) continue
      await add(
        tx,
        fresh.map((row) => ({ thread, seq: ++seq, ...row })),
      )
    }
    return seq
  }
}

/** Adds the processed ids that a thread does not have yet. */
function processedWriter() {
  const add = compiled((db, rows: Slots<readonly Tables['troupe_processed'][]>) =>
    db
      .insertInto('troupe_processed')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['thread', 'foreign_id']).doNothing()),
  )
  return async (tx: Queries, thread: number, ids: readonly string[]): Promise<void> => {
    for (const some of statements(ids)) {
      await add(
        tx,
        some.map((foreign_id) => ({ thread, foreign_id })),
      )
    }
  }
}
