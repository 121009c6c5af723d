import type { ThreadCommit, ThreadStore } from '@troupe/kernel'
import { checkCommit, checkId, checkRef, failure, type ThreadKey } from './checks.ts'
import { compiled, type Slots } from './compiled.ts'
import { locked, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Queries, type Session, statements } from './session.ts'
import { fromJson, toJson } from './text.ts'
import { viewOf } from './thread-view.ts'

type MessageRow = Omit<Tables['troupe_messages'], 'thread' | 'seq'>
type Changed = Pick<
  Tables['troupe_threads'],
  'version' | 'state' | 'open_calls' | 'checkpoint' | 'message_seq' | 'updated_at'
>

/** Writes commits to threads. */
export function threadCommit({ who, engine, now, write }: Session): ThreadStore['commit'] {
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
        .select(['t.token', 't.run_id', 't.expires_at']),
      'share',
    ),
  )
  const addProcessed = compiled((db, rows: Slots<readonly Tables['troupe_processed'][]>) =>
    db
      .insertInto('troupe_processed')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['thread', 'foreign_id']).doNothing()),
  )
  const change = compiled((db, { id, ...changed }: Slots<Changed & { id: number }>) =>
    db.updateTable('troupe_threads').set(changed).where('id', '=', id),
  )
  const addMessages = messageWriter()

  return async (ref, commit, token) => {
    const key = checkRef(who, ref)
    checkCommit(who, commit)
    const messages = messageRows(who, commit)
    const processed = [...new Set(commit.processed?.map((id) => checkId(who, 'processed id', id)))]
    return write(async (tx) => {
      const [row] = await lockThread(tx, key)
      // A separate statement reads the lease, because a new holder may have taken it while this one waited for the thread.
      const [lease] = await lockLease(tx, key)
      if (lease?.token !== token) throw failure(who, 'LEASE_LOST', 'stale lease token', token)
      if (!row) throw failure(who, 'NOT_FOUND', 'unknown thread', ref.threadId)
      const changed: Changed = {
        version: row.version + 1,
        state: stateAfter(row.state, commit),
        open_calls: commit.openCalls ? toJson(commit.openCalls, who, 'open calls') : row.open_calls,
        checkpoint: commit.checkpoint ? toJson(commit.checkpoint, who, 'a checkpoint') : row.checkpoint,
        message_seq: await addMessages(tx, row.id, row.message_seq, messages),
        updated_at: now(),
      }
      if (commit.checkpoint === null) changed.checkpoint = null
      for (const ids of statements(processed)) {
        await addProcessed(
          tx,
          ids.map((foreign_id) => ({ thread: row.id, foreign_id })),
        )
      }
      await change(tx, { id: row.id, ...changed })
      const run_id = lease.expires_at > now() ? lease.run_id : null
      return viewOf({ ...changed, app: key.app, user_id: key.user, thread_id: key.threadId, seq: row.seq, run_id })
    })
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
    const message_id = checkId(who, 'message id', message.id)
    const run_id = checkId(who, 'runId', runId)
    if (!rows.has(message_id)) rows.set(message_id, { message_id, run_id, message: toJson(message, who, 'a message') })
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
