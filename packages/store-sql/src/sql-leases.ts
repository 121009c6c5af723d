import type { CancelMode, LeaseStore } from '@troupe/kernel'
import {
  checkCancel,
  checkHolder,
  checkTtl,
  harderCancel,
  isLive,
  leaseLost,
  lostCall,
  lostRun,
  threadBusy,
} from '@troupe/kernel/store'
import { type Expression, sql, type Transaction } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseRenewals } from './lease-renewals.ts'
import { leaseTime } from './lease-time.ts'
import { newLease } from './new-lease.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerKeys, ownerOf, patient, threadOf } from './rows.ts'
import { runIdClaims } from './run-id-claims.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { wholeToken } from './whole-token.ts'

/** Leases in SQL. */
export function sqlLeases(database: SqlDatabase): LeaseStore {
  const { who, engine, now, query, write } = database
  const time = leaseTime(database)
  const ownerId = ownerKeys()
  const claimId = runIdClaims(database)
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(engine, threadOf(db, key).select(['t.id', 't.unfinished', 't.unfinished_cancel'])),
  )
  const lockLease = compiled((db, { owner, threadId, now }: Slots<{ owner: number; threadId: string; now: number }>) =>
    locked(
      engine,
      db
        .selectFrom('troupe_leases as t')
        .selectAll()
        .select(sql<number>`expires_at - ${time.at(now)}`.as('left'))
        .where('owner', '=', owner)
        .where('thread_id', '=', threadId),
    ),
  )
  const add = compiled((db, row: Slots<Omit<Tables['troupe_leases'], 'token'>>) =>
    db
      .insertInto('troupe_leases')
      .values({ ...row, expires_at: time.expiry(row.expires_at) })
      .onConflict((conflict) => conflict.columns(['owner', 'thread_id']).doNothing())
      .returning('token'),
  )
  const [takeNew, extend] = [newLease(database), leaseRenewals(database)]
  const remove = compiled((db, { token, ...key }: Slots<ThreadKey & { token: number }>) =>
    patient(
      engine,
      db
        .deleteFrom('troupe_leases')
        .where('token', '=', token)
        .where('owner', '=', ownerOf(db, key).select('o.id'))
        .where('thread_id', '=', key.threadId),
    ),
  )

  /** Removes a lease that another holder takes. Contract: gives the cancel of a run that comes again. */
  const replace = async (
    tx: Transaction<Tables>,
    thread: { readonly id: number } | undefined,
    lease: Awaited<ReturnType<typeof lockLease>>[number],
    { runId, again = false }: Parameters<LeaseStore['acquire']>[1],
  ): Promise<string | null> => {
    const former = { runId: fromColumn(lease.run_id), expiresAt: lease.expires_at }
    const isOwn = former.runId === runId
    if (isLive({ expiresAt: lease.left }, 0) && !(isOwn && again)) throw threadBusy(who, former)
    if (thread && !isOwn) await endFormer(tx, thread.id, lease, now())
    await tx.deleteFrom('troupe_leases').where('token', '=', lease.token).execute()
    return isOwn && again ? lease.cancel : null
  }

  return {
    async acquire(ref, holder) {
      const key = threadKey(who, ref)
      checkHolder(who, holder)
      const taken = holder.begins ? await takeNew(key, holder) : undefined
      if (taken) return taken
      return write(async (tx) => {
        const owner = await ownerId(tx, key)
        // Lock the thread before the lease, as everywhere.
        const [thread] = await lockThread(tx, key)
        const run_id = toColumn(holder.runId)
        let cancel = thread?.unfinished === run_id ? thread.unfinished_cancel : null
        const take = async () => {
          const [lease] = await lockLease(tx, { owner, threadId: key.threadId, now: time.now() })
          if (lease) cancel = (await replace(tx, thread, lease, holder)) ?? cancel
          const [added] = await add(tx, {
            owner,
            thread_id: key.threadId,
            run_id,
            expires_at: time.now(holder.ttlMs),
            cancel,
          })
          return added
        }
        // If another process was faster, the next attempt finds its lease.
        for (;;) {
          const lease = await take()
          if (!lease) continue
          const fresh = holder.begins && (await claimId(tx, owner, holder.runId, key.threadId))
          return { ...lease, ...asked(cancel), ...(fresh && { fresh }) }
        }
      })
    },

    async renew(ref, token, ttlMs) {
      const key = threadKey(who, ref)
      checkTtl(who, ttlMs)
      const lease = await query((db) => extend(db, key, wholeToken(token), ttlMs))
      if (!lease) throw leaseLost(who, token)
      return asked(lease.cancel)
    },

    async release(ref, token) {
      const key = threadKey(who, ref)
      await query((db) => remove(db, { ...key, token: wholeToken(token) }))
    },

    async requestCancel(ref, request) {
      const key = threadKey(who, ref)
      const mode = checkCancel(who, request)
      const { runId } = request
      return write(async (tx) => {
        const [thread] = await lockThread(tx, key)
        const lease = await locked(engine, liveLease(tx, key, time.at(time.now()))).executeTakeFirst()
        if (!lease || (runId !== undefined && toColumn(runId) !== lease.run_id)) return false
        const cancel = harderCancel(asked(lease.cancel).cancel, mode)
        if (cancel === lease.cancel) return true
        await tx.updateTable('troupe_leases').set({ cancel }).where('token', '=', lease.token).execute()
        if (thread?.unfinished === lease.run_id) {
          const kept = { unfinished_cancel: cancel }
          await tx.updateTable('troupe_threads').set(kept).where('id', '=', thread.id).execute()
        }
        return true
      })
    },
  }
}

/** The cancel of a lease as callers get it. */
function asked(cancel: string | null): { readonly cancel?: CancelMode } {
  return cancel === null ? {} : { cancel: cancel as CancelMode }
}

function liveLease(tx: Queries, key: ThreadKey, now: number | Expression<number>) {
  return ownerOf(tx, key)
    .innerJoin('troupe_leases as t', 't.owner', 'o.id')
    .where('t.thread_id', '=', key.threadId)
    .where('t.expires_at', '>', now)
    .select(['t.token', 't.run_id', 't.cancel'])
}

/** Whether the end of a run is in its thread: it has the last message, and its journal is gone. */
async function hasEnded(tx: Transaction<Tables>, thread: number, run: string): Promise<boolean> {
  const found = await tx
    .selectFrom('troupe_threads as t')
    .innerJoin('troupe_segments as s', 's.thread', 't.id')
    .innerJoin('troupe_messages as m', (join) =>
      join.onRef('m.thread', '=', 's.source').onRef('m.seq', '=', 't.message_seq'),
    )
    .select(['t.unfinished', 'm.run_id'])
    .where('t.id', '=', thread)
    .whereRef('m.seq', '>', 's.after')
    .whereRef('m.seq', '<=', 's.upto')
    .executeTakeFirst()
  return found?.run_id === run && found.unfinished !== run
}

/** Ends the records that the former holder left open: its run, nested runs, and their calls. Contract: those of a run that has ended in its thread may come late. */
async function endFormer(
  tx: Transaction<Tables>,
  thread: number,
  { run_id, cancel }: Pick<Tables['troupe_leases'], 'run_id' | 'cancel'>,
  endedAt: number,
): Promise<void> {
  if (await hasEnded(tx, thread, run_id)) return
  const [run, call] = [lostRun(fromColumn(run_id), endedAt, asked(cancel).cancel), lostCall(endedAt)]
  for (const some of statements([...(await nestedRuns(tx, thread, run_id))])) {
    await tx
      .updateTable('troupe_runs')
      .set({ status: run.status, error: JSON.stringify(run.error), ended_at: run.endedAt })
      .where('thread', '=', thread)
      .where('run_id', 'in', some)
      .where('status', '=', 'generating')
      .execute()
    await tx
      .updateTable('troupe_tool_calls')
      .set({ status: call.status, result: JSON.stringify(call.result), ended_at: call.endedAt })
      .where('thread', '=', thread)
      .where('run_id', 'in', some)
      .where('status', '=', 'running')
      .execute()
  }
}

/** A run and the runs nested in it, at every depth. */
async function nestedRuns(tx: Transaction<Tables>, thread: number, run: string): Promise<Set<string>> {
  const found = new Set([run])
  for (let parents = [run]; parents.length > 0; ) {
    const children: string[] = []
    for (const some of statements(parents)) {
      const rows = await tx
        .selectFrom('troupe_runs')
        .select('run_id')
        .where('thread', '=', thread)
        .where('parent_run_id', 'in', some)
        .execute()
      children.push(...rows.map(({ run_id }) => run_id))
    }
    parents = children.filter((id) => !found.has(id))
    for (const id of parents) found.add(id)
  }
  return found
}
