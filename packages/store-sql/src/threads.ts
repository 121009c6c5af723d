import type { Message, Thread, ThreadCommit, ThreadStore } from '@troupe/kernel'
import type { Transaction } from 'kysely'
import {
  checkCommit,
  checkId,
  checkMaintenance,
  checkOwner,
  checkPage,
  checkRef,
  failure,
  type ThreadKey,
} from './checks.ts'
import { ensureOwner, locked, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Queries, type Session, statements } from './session.ts'
import { fromColumn, fromJson, toColumn, toJson } from './text.ts'

type MessageRow = Omit<Tables['troupe_messages'], 'thread' | 'seq'>

/** Conversations in SQL. */
export function sqlThreads({ who, engine, now, query, write, transaction }: Session): ThreadStore {
  /** Threads as `viewOf` shows them. */
  const views = (db: Queries) =>
    db
      .selectFrom('troupe_threads as t')
      .innerJoin('troupe_owners as o', 'o.id', 't.owner')
      .leftJoin('troupe_leases as l', (join) =>
        join.onRef('l.owner', '=', 't.owner').onRef('l.thread_id', '=', 't.thread_id').on('l.expires_at', '>', now()),
      )
      .select(['o.app', 'o.user_id', 't.thread_id', 't.seq', 't.version', 't.state', 't.open_calls', 't.checkpoint'])
      .select(['t.updated_at', 'l.run_id'])

  const find = async (db: Queries, { app, user, threadId }: ThreadKey): Promise<Thread | undefined> => {
    const row = await views(db)
      .where('o.app', '=', app)
      .where('o.user_id', '=', user)
      .where('t.thread_id', '=', threadId)
      .executeTakeFirst()
    return row && viewOf(row)
  }

  const create = async (tx: Transaction<Tables>, key: ThreadKey): Promise<Thread> => {
    const owner = await ensureOwner(tx, key)
    // All who open a thread of this owner come here one by one.
    const { thread_seq: last } = await locked(
      engine,
      tx.selectFrom('troupe_owners as t').select('thread_seq').where('id', '=', owner),
    ).executeTakeFirstOrThrow()
    const found = await find(tx, key)
    if (found) return found
    const seq = last + 1
    await tx.updateTable('troupe_owners').set({ thread_seq: seq }).where('id', '=', owner).execute()
    const counters = { version: 0, message_seq: 0, run_seq: 0, call_seq: 0 }
    const empty = { state: '{}', open_calls: '[]', checkpoint: null }
    await tx
      .insertInto('troupe_threads')
      .values({ owner, thread_id: key.threadId, seq, ...counters, ...empty, updated_at: now() })
      .execute()
    return (await find(tx, key)) as Thread
  }

  return {
    async get(ref) {
      const key = checkRef(who, ref)
      return query((db) => find(db, key))
    },

    async open(ref) {
      const key = checkRef(who, ref)
      return query(async (db) => (await find(db, key)) ?? transaction((tx) => create(tx, key)))
    },

    async commit(ref, commit, token) {
      const key = checkRef(who, ref)
      checkCommit(who, commit)
      const messages = messageRows(who, commit)
      const processed = [...new Set(commit.processed?.map((id) => checkId(who, 'processed id', id)))]
      return write(async (tx) => {
        const row = await locked(engine, threadOf(tx, key).selectAll('t')).executeTakeFirst()
        // The lease in a statement of its own: the thread may have waited for whoever took it over.
        const lease = await locked(
          engine,
          ownerOf(tx, key)
            .innerJoin('troupe_leases as t', 't.owner', 'o.id')
            .where('t.thread_id', '=', key.threadId)
            .select(['t.token', 't.run_id', 't.expires_at']),
          'share',
        ).executeTakeFirst()
        if (lease?.token !== token) throw failure(who, 'LEASE_LOST', 'stale lease token', token)
        if (!row) throw failure(who, 'NOT_FOUND', 'unknown thread', ref.threadId)
        const changed = {
          version: row.version + 1,
          state: stateAfter(row.state, commit),
          open_calls: commit.openCalls ? toJson(commit.openCalls, who, 'open calls') : row.open_calls,
          checkpoint: commit.checkpoint ? toJson(commit.checkpoint, who, 'a checkpoint') : row.checkpoint,
          message_seq: await addMessages(tx, row.id, row.message_seq, messages),
          updated_at: now(),
        }
        if (commit.checkpoint === null) changed.checkpoint = null
        for (const ids of statements(processed)) {
          await tx
            .insertInto('troupe_processed')
            .values(ids.map((foreign_id) => ({ thread: row.id, foreign_id })))
            .onConflict((conflict) => conflict.columns(['thread', 'foreign_id']).doNothing())
            .execute()
        }
        await tx.updateTable('troupe_threads').set(changed).where('id', '=', row.id).execute()
        const run_id = lease.expires_at > now() ? lease.run_id : null
        return viewOf({ ...row, ...changed, app: key.app, user_id: key.user, run_id })
      })
    },

    async messages(ref, page) {
      const key = checkRef(who, ref)
      const { after, limit, newestFirst } = checkPage(who, page)
      const rows = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_messages as m', 'm.thread', 't.id')
          .where('m.seq', newestFirst ? '<' : '>', after)
          .select(['m.seq', 'm.run_id', 'm.message'])
          .orderBy('m.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      )
      return rows.map(({ seq, run_id, message }) => ({
        seq,
        runId: fromColumn(run_id),
        message: fromJson<Message>(message),
      }))
    },

    async processed(ref, ids) {
      const key = checkRef(who, ref)
      const columns = new Map([...new Set(ids)].filter((id) => typeof id === 'string').map((id) => [toColumn(id), id]))
      const done = await query(async (db) => {
        const done = new Set<string>()
        for (const some of statements([...columns.keys()])) {
          const rows = await threadOf(db, key)
            .innerJoin('troupe_processed as p', 'p.thread', 't.id')
            .where('p.foreign_id', 'in', some)
            .select('p.foreign_id')
            .execute()
          for (const { foreign_id } of rows) done.add(foreign_id)
        }
        return done
      })
      return [...columns].filter(([column]) => done.has(column)).map(([, id]) => id)
    },

    async list(owner, page) {
      const { app, user } = checkOwner(who, owner)
      const { after, limit, newestFirst } = checkPage(who, page)
      const rows = await query((db) =>
        views(db)
          .where('o.app', '=', app)
          .where('o.user_id', '=', user)
          .where('t.seq', newestFirst ? '<' : '>', after)
          .orderBy('t.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      )
      return rows.map(viewOf)
    },

    async delete(ref) {
      const key = checkRef(who, ref)
      const logs = await write(async (tx) => {
        const thread = await locked(engine, threadOf(tx, key).select(['t.id', 't.owner'])).executeTakeFirst()
        if (!thread) return undefined
        const logs = await tx.selectFrom('troupe_run_logs').select('id').where('thread', '=', thread.id).execute()
        await tx
          .deleteFrom('troupe_leases')
          .where('owner', '=', thread.owner)
          .where('thread_id', '=', key.threadId)
          .execute()
        await tx.deleteFrom('troupe_threads').where('id', '=', thread.id).execute()
        const ids = logs.map(({ id }) => id)
        await engine.announce?.(tx, ids)
        return ids
      })
      if (logs) engine.watch.tell(logs)
      return logs !== undefined
    },

    async idle(wanted) {
      const { before, limit } = checkMaintenance(who, wanted)
      const rows = await query((db) =>
        views(db)
          .where('t.updated_at', '<', before)
          .where('l.token', 'is', null)
          .orderBy('t.updated_at')
          .orderBy('t.id')
          .limit(limit)
          .execute(),
      )
      return rows.map(viewOf)
    },
  }
}

type ViewRow = Pick<
  Tables['troupe_threads'],
  'thread_id' | 'seq' | 'version' | 'state' | 'open_calls' | 'checkpoint' | 'updated_at'
> & { readonly app: string; readonly user_id: string; readonly run_id: string | null }

function viewOf(row: ViewRow): Thread {
  return {
    ref: { app: fromColumn(row.app), user: fromColumn(row.user_id), threadId: fromColumn(row.thread_id) },
    seq: row.seq,
    version: row.version,
    state: fromJson(row.state),
    openCalls: fromJson(row.open_calls),
    ...(row.checkpoint !== null && { checkpoint: fromJson(row.checkpoint) }),
    ...(row.run_id !== null && { runId: fromColumn(row.run_id) }),
    updatedAt: row.updated_at,
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

/** Adds what the thread does not have yet and tells its last sequence. */
async function addMessages(
  tx: Transaction<Tables>,
  thread: number,
  last: number,
  messages: readonly MessageRow[],
): Promise<number> {
  let seq = last
  for (const some of statements(messages)) {
    const known = await tx
      .selectFrom('troupe_messages')
      .select('message_id')
      .where('thread', '=', thread)
      .where(
        'message_id',
        'in',
        some.map(({ message_id }) => message_id),
      )
      .execute()
    const there = new Set(known.map(({ message_id }) => message_id))
    const fresh = some.filter(({ message_id }) => !there.has(message_id))
    if (fresh.length === 0) continue
    await tx
      .insertInto('troupe_messages')
      .values(fresh.map((row) => ({ thread, seq: ++seq, ...row })))
      .execute()
  }
  return seq
}
