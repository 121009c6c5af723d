import type { Message, Thread, ThreadStore } from '@troupe/kernel'
import { checkMaintenance, checkPage, checkProcessed } from '@troupe/kernel/store'
import type { Expression } from 'kysely'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerKeys, ownerOf, threadOf } from './rows.ts'
import { statements } from './statements.ts'
import { threadCommit } from './thread-commit.ts'
import { ownerKey, type ThreadKey, threadKey } from './thread-key.ts'
import { viewOf } from './thread-view.ts'

/** Conversations in SQL. */
export function sqlThreads(database: SqlDatabase): ThreadStore {
  const { who, engine, now, query, write, transaction } = database
  const ownerId = ownerKeys()

  /** Threads as `viewOf` returns them. */
  const views = (db: Queries, now: number | Expression<number>) =>
    db
      .selectFrom('troupe_threads as t')
      .innerJoin('troupe_owners as o', 'o.id', 't.owner')
      .leftJoin('troupe_leases as l', (join) =>
        join.onRef('l.owner', '=', 't.owner').onRef('l.thread_id', '=', 't.thread_id').on('l.expires_at', '>', now),
      )
      .select(['o.app', 'o.user_id', 't.thread_id', 't.seq', 't.version', 't.state', 't.open_calls', 't.checkpoint'])
      .select(['t.unfinished', 't.updated_at', 'l.run_id'])

  const findView = compiled((db, { app, user, threadId, now }: Slots<ThreadKey & { now: number }>) =>
    views(db, now).where('o.app', '=', app).where('o.user_id', '=', user).where('t.thread_id', '=', threadId),
  )
  const find = async (db: Queries, key: ThreadKey): Promise<Thread | undefined> => {
    const [row] = await findView(db, { ...key, now: now() })
    return row && viewOf(row)
  }

  const lockOwner = compiled((db, { owner }: Slots<{ owner: number }>) =>
    locked(engine, db.selectFrom('troupe_owners as t').select('thread_seq').where('id', '=', owner)),
  )
  const countThread = compiled((db, { owner, seq }: Slots<{ owner: number; seq: number }>) =>
    db.updateTable('troupe_owners').set({ thread_seq: seq }).where('id', '=', owner),
  )
  const add = compiled((db, row: Slots<{ owner: number; thread_id: string; seq: number; updated_at: number }>) => {
    const counters = { version: 0, message_seq: 0, run_seq: 0, call_seq: 0 }
    const empty = { state: '{}', open_calls: '[]', checkpoint: null, unfinished: null, unfinished_cancel: null }
    return db.insertInto('troupe_threads').values({ ...row, ...counters, ...empty })
  })
  const create = async (tx: Queries, key: ThreadKey): Promise<Thread> => {
    const owner = await ownerId(tx, key)
    // Calls that open a thread of this owner are serialised here.
    const { thread_seq: last } = sure(await lockOwner(tx, { owner }))
    const found = await find(tx, key)
    if (found) return found
    const seq = last + 1
    await countThread(tx, { owner, seq })
    await add(tx, { owner, thread_id: key.threadId, seq, updated_at: now() })
    return (await find(tx, key)) as Thread
  }

  const pageOf = (newestFirst: boolean) =>
    compiled((db, { after, limit, ...key }: Slots<ThreadKey & { after: number; limit: number }>) =>
      threadOf(db, key)
        .innerJoin('troupe_messages as m', 'm.thread', 't.id')
        .where('m.seq', newestFirst ? '<' : '>', after)
        .select(['m.seq', 'm.run_id', 'm.message'])
        .orderBy('m.seq', newestFirst ? 'desc' : 'asc')
        .limit(limit),
    )
  const [oldestMessages, newestMessages] = [pageOf(false), pageOf(true)]

  return {
    async get(ref) {
      const key = threadKey(who, ref)
      return query((db) => find(db, key))
    },

    async open(ref) {
      const key = threadKey(who, ref)
      return query(async (db) => (await find(db, key)) ?? transaction((tx) => create(tx, key)))
    },

    commit: threadCommit(database),

    async messages(ref, page) {
      const key = threadKey(who, ref)
      const { after, limit, newestFirst } = checkPage(who, page)
      const read = newestFirst ? newestMessages : oldestMessages
      const rows = await query((db) => read(db, { ...key, after, limit }))
      return rows.map(({ seq, run_id, message }) => ({
        seq,
        runId: fromColumn(run_id),
        message: fromJson<Message>(message),
      }))
    },

    async processed(ref, ids) {
      const key = threadKey(who, ref)
      checkProcessed(who, ids)
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
      const { app, user } = ownerKey(who, owner)
      const { after, limit, newestFirst } = checkPage(who, page)
      const rows = await query((db) =>
        views(db, now())
          // Not a join: with one owner, its threads are in the order of their index.
          .where('t.owner', '=', ownerOf(db, { app, user }).select('o.id'))
          .where('t.seq', newestFirst ? '<' : '>', after)
          .orderBy('t.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      )
      return rows.map(viewOf)
    },

    async delete(ref) {
      const key = threadKey(who, ref)
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
      if (logs) engine.watch.notify(logs)
      return logs !== undefined
    },

    async idle(wanted) {
      checkMaintenance(who, wanted)
      const { before, limit } = wanted
      const rows = await query((db) =>
        views(db, now())
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
