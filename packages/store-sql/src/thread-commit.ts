import type { Thread, ThreadCommit, ThreadStore } from '@troupe/kernel'
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
import { changeWriter } from './change-rows.ts'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { entriesText, journalWriter } from './journal-writer.ts'
import { leaseLocker } from './lease-locker.ts'
import type { SqlDatabase } from './open-database.ts'
import { processedWriter } from './processed-rows.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { messageFinder } from './thread-path.ts'
import { viewOf } from './thread-view.ts'

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
>

type Kept = Pick<Changed, 'open_calls' | 'checkpoint' | 'waiting'>

/** Writes commits to threads. */
export function threadCommit(database: SqlDatabase): ThreadStore['commit'] {
  const { who, engine, now, write } = database
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
        't.waiting',
        't.unfinished',
        't.unfinished_cancel',
        't.message_seq',
        't.forked_from',
        't.forked_at',
      ]),
    ),
  )
  const lockLease = leaseLocker(database)
  const change = compiled((db, { id, ...changed }: Slots<Changed & { id: number }>) =>
    db.updateTable('troupe_threads').set(changed).where('id', '=', id),
  )
  const [knownIn, addMessages, replaceJournal] = [knownMessages(), messageWriter(), journalWriter()]
  const [addChanges, addProcessed] = [changeWriter(), processedWriter()]

  return async (ref, commit, token) => {
    const key = threadKey(who, ref)
    checkCommit(who, commit)
    const texts = messageTexts(who, commit)
    const written = writtenBy(who, commit)
    const journal = commit.journal && entriesText(who, commit.journal.entries)
    return write(async (tx) => {
      const [row] = await lockThread(tx, key)
      // A separate statement reads the lease, because a new holder may have taken it while this one waited for the thread.
      const [lease] = await lockLease(tx, key)
      if (!holdsLease(lease, token)) throw leaseLost(who, token)
      if (!row) throw threadNotFound(who, ref.threadId)
      const { id, seq, forked_from, forked_at, ...kept } = row
      const known = await knownIn(tx, id, texts.keys())
      const effect = commitEffect(commit, kept.message_seq, (messageId) => known.has(messageId))
      const changed: Changed = {
        ...kept,
        ...written,
        waiting: waitingAfter(kept, written),
        // The cancel may have come before the journal.
        ...('unfinished' in written && {
          unfinished_cancel: written.unfinished === lease.run_id ? lease.cancel : null,
        }),
        version: kept.version + 1,
        state: stateText(kept.state, effect),
        message_seq: effect.last,
        updated_at: now(),
      }
      await addMessages(tx, id, effect, texts)
      await addChanges(tx, id, effect.changes)
      await addProcessed(tx, id, effect.processed)
      await replaceJournal(tx, row, journal, changed.updated_at)
      await change(tx, { id, ...changed })
      const run_id = isLive({ expiresAt: lease.left }, 0) ? lease.run_id : null
      const name = { app: key.app, user_id: key.user, thread_id: key.threadId, seq, forked_from, forked_at }
      return viewOf({ ...changed, ...name, run_id })
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
