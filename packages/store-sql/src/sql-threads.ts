import type { Message, Thread, ThreadStore } from '@troupe/kernel'
import { checkIdle, checkKnown, checkPage, checkProcessed, checkRecent, threadNotFound } from '@troupe/kernel/store'
import { type Expression, sql } from 'kysely'
import { fromColumn, fromJson, toColumn } from './column-text.ts'
import type { WriteCommit } from './commit-at-once.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerKeys, ownerOf, threadOf } from './rows.ts'
import { statements } from './statements.ts'
import { threadAdder } from './thread-adder.ts'
import { threadCommit } from './thread-commit.ts'
import { threadDelete } from './thread-delete.ts'
import { threadFork } from './thread-fork.ts'
import { ownerKey, type ThreadKey, threadKey } from './thread-key.ts'
import { threadLabels } from './thread-labels.ts'
import { knownIds, messagePages, unindexed } from './thread-path.ts'
import { CONTENT, SUMMARY, summaryOf, viewOf } from './thread-view.ts'

/** Conversations in SQL. */
export function sqlThreads(database: SqlDatabase, writeAtOnce?: WriteCommit): Required<ThreadStore> {
  const { who, engine, now, query, transaction } = database
  const ownerId = ownerKeys()
  const setLabel = threadLabels(database)
  const time = leaseTime(database)

  /** Threads as `summaryOf` returns them. */
  const summaries = (db: Queries, now: number | Expression<number>) =>
    db
      .selectFrom('troupe_threads as t')
      .innerJoin('troupe_owners as o', 'o.id', 't.owner')
      .leftJoin('troupe_leases as l', (join) =>
        join
          .onRef('l.owner', '=', 't.owner')
          .onRef('l.thread_id', '=', 't.thread_id')
          .on('l.expires_at', '>', time.at(now)),
      )
      .select(['o.app', 'o.user_id', 'l.run_id'])
      .select(SUMMARY.map((column) => `t.${column}` as const))

  const findView = compiled((db, { app, user, threadId, now }: Slots<ThreadKey & { now: number }>) =>
    summaries(db, now)
      .select(CONTENT.map((column) => `t.${column}` as const))
      .where('o.app', '=', app)
      .where('o.user_id', '=', user)
      .where('t.thread_id', '=', threadId),
  )
  const find = async (db: Queries, key: ThreadKey): Promise<Thread | undefined> => {
    const [row] = await findView(db, { ...key, now: time.now() })
    return row && viewOf(row)
  }

  const [addThread, read, knownOf] = [threadAdder(engine), messagePages(), knownIds()]
  const create = async (tx: Queries, key: ThreadKey): Promise<Thread> => {
    const owner = await addThread.lockOwner(tx, await ownerId(tx, key))
    const found = await find(tx, key)
    if (found) return found
    await addThread.add(tx, owner, { thread_id: key.threadId, updated_at: now() })
    return (await find(tx, key)) as Thread
  }

  return {
    async get(ref) {
      const key = threadKey(who, ref)
      return query((db) => find(db, key))
    },

    async open(ref) {
      const key = threadKey(who, ref)
      return query(async (db) => (await find(db, key)) ?? transaction((tx) => create(tx, key)))
    },

    commit: threadCommit(database, writeAtOnce),

    async messages(ref, page) {
      const key = threadKey(who, ref)
      const wanted = checkPage(who, page)
      const rows = await query((db) => read(db, key, wanted))
      return rows.map(({ seq, run_id, message }) => ({
        seq,
        runId: fromColumn(run_id),
        message: fromJson<Message>(message),
      }))
    },

    async known(ref, ids) {
      const key = threadKey(who, ref)
      checkKnown(who, ids)
      const texts = [...new Set(ids)].filter((id) => typeof id === 'string')
      return query((db) => knownOf(db, key, texts))
    },

    async processed(ref, ids) {
      const key = threadKey(who, ref)
      checkProcessed(who, ids)
      const columns = new Map([...new Set(ids)].filter((id) => typeof id === 'string').map((id) => [toColumn(id), id]))
      const done = await query(async (db) => {
        const done = new Set<string>()
        for (const some of statements([...columns.keys()])) {
          const rows = await threadOf(db, key)
            .innerJoin('troupe_segments as s', 's.thread', 't.id')
            .innerJoin('troupe_processed as p', 'p.thread', 's.source')
            .where('p.foreign_id', 'in', some)
            .where(unindexed('p.seq'), '>=', sql.ref<number>('s.after'))
            .where(unindexed('p.seq'), '<', sql.ref<number>('s.upto'))
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
        summaries(db, time.now())
          // Not a join: with one owner, its threads are in the order of their index.
          .where('t.owner', '=', ownerOf(db, { app, user }).select('o.id'))
          .where('t.seq', newestFirst ? '<' : '>', after)
          .orderBy('t.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      )
      return rows.map(summaryOf)
    },

    async recent(owner, page) {
      const { app, user } = ownerKey(who, owner)
      const { limit, after } = checkRecent(who, page)
      const rows = await query((db) =>
        summaries(db, time.now())
          .where('t.owner', '=', ownerOf(db, { app, user }).select('o.id'))
          .$if(after !== undefined, (found) =>
            found.where(sql<boolean>`(t.updated_at, t.seq) < (${after?.updatedAt}, ${after?.seq})`),
          )
          .orderBy('t.updated_at', 'desc')
          .orderBy('t.seq', 'desc')
          .limit(limit)
          .execute(),
      )
      return rows.map(summaryOf)
    },

    async label(ref, label) {
      await setLabel(ref, label)
      const { app, user, threadId } = threadKey(who, ref)
      const row = await query((db) =>
        summaries(db, time.now())
          .where('o.app', '=', app)
          .where('o.user_id', '=', user)
          .where('t.thread_id', '=', threadId)
          .executeTakeFirst(),
      )
      if (!row) throw threadNotFound(who, ref.threadId)
      return summaryOf(row)
    },

    ...threadFork(database, addThread, async (tx, key) => (await find(tx, key)) as Thread),

    delete: threadDelete(database, addThread),

    async idle(wanted) {
      checkIdle(who, wanted)
      const { before, limit, after } = wanted
      const rows = await query((db) =>
        summaries(db, time.now())
          .where('t.updated_at', '<', before)
          .where('l.token', 'is', null)
          .$if(after !== undefined, (found) => found.where(laterThan(after as Idle)))
          .orderBy('t.updated_at')
          .orderBy('o.app')
          .orderBy('o.user_id')
          .orderBy('t.thread_id')
          .limit(limit)
          .execute(),
      )
      return rows.map(summaryOf)
    },
  }
}

type Idle = NonNullable<Parameters<ThreadStore['idle']>[0]['after']>

/** Threads after another in the order of `idle`. Contract: the first comparison is for the index of `updated_at`. */
function laterThan({ ref, updatedAt }: Idle) {
  const [app, user, threadId] = [ref.app, ref.user, ref.threadId].map(toColumn)
  const later = sql<boolean>`(o.app, o.user_id, t.thread_id) > (${app}, ${user}, ${threadId})`
  return sql<boolean>`t.updated_at >= ${updatedAt} and (t.updated_at > ${updatedAt} or ${later})`
}
