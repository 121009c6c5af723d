import type { CancelMode, LeaseStore } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { got } from '@troupe/kernel/kit'
import type { Transaction } from 'kysely'
import { check, checkId, checkRef, checkTtl, failure, type ThreadKey } from './checks.ts'
import { compiled, type Slots } from './compiled.ts'
import { locked, ownerKeys, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Queries, type Session, statements } from './session.ts'
import { fromColumn, toColumn } from './text.ts'

/** From soft to hard. */
const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

/** Leases in SQL. */
export function sqlLeases({ who, engine, now, query, write }: Session): LeaseStore {
  const ownerKey = ownerKeys()
  const lockThread = compiled((db, key: Slots<ThreadKey>) => locked(engine, threadOf(db, key).select('t.id')))
  const lockLease = compiled((db, { owner, threadId }: Slots<{ owner: number; threadId: string }>) =>
    locked(
      engine,
      db.selectFrom('troupe_leases as t').selectAll().where('owner', '=', owner).where('thread_id', '=', threadId),
    ),
  )
  const add = compiled((db, row: Slots<Omit<Tables['troupe_leases'], 'token'>>) =>
    db
      .insertInto('troupe_leases')
      .values(row)
      .onConflict((conflict) => conflict.columns(['owner', 'thread_id']).doNothing())
      .returning('token'),
  )
  const extend = compiled(
    (db, { token, expires_at, ...key }: Slots<ThreadKey & { token: number; expires_at: number }>) =>
      db
        .updateTable('troupe_leases')
        .set({ expires_at })
        .where('token', '=', token)
        .where('owner', '=', ownerOf(db, key).select('o.id'))
        .where('thread_id', '=', key.threadId)
        .returning('cancel'),
  )
  const remove = compiled((db, { token, ...key }: Slots<ThreadKey & { token: number }>) =>
    db
      .deleteFrom('troupe_leases')
      .where('token', '=', token)
      .where('owner', '=', ownerOf(db, key).select('o.id'))
      .where('thread_id', '=', key.threadId),
  )

  return {
    async acquire(ref, { runId, ttlMs }) {
      const key = checkRef(who, ref)
      const run_id = checkId(who, 'runId', runId)
      checkTtl(who, ttlMs)
      return write(async (tx) => {
        const owner = await ownerKey(tx, key)
        // Lock the thread before the lease, as everywhere.
        const [thread] = await lockThread(tx, key)
        const take = async () => {
          const [lease] = await lockLease(tx, { owner, threadId: key.threadId })
          if (lease && lease.expires_at > now()) {
            const details = { runId: fromColumn(lease.run_id), expiresAt: lease.expires_at }
            throw failure(who, 'THREAD_BUSY', 'another run holds the thread', details.runId, {
              retryable: true,
              details,
            })
          }
          if (lease) {
            if (thread) await failRuns(tx, thread.id, lease.run_id, now())
            await tx.deleteFrom('troupe_leases').where('token', '=', lease.token).execute()
          }
          const row = { owner, thread_id: key.threadId, run_id, expires_at: now() + ttlMs, cancel: null }
          const [added] = await add(tx, row)
          return added
        }
        // If another process was faster, the next attempt finds its lease.
        for (;;) {
          const lease = await take()
          if (lease) return lease
        }
      })
    },

    async renew(ref, token, ttlMs) {
      const key = checkRef(who, ref)
      checkTtl(who, ttlMs)
      const [lease] = await query((db) => extend(db, { ...key, token: wholeToken(token), expires_at: now() + ttlMs }))
      if (!lease) throw failure(who, 'LEASE_LOST', 'stale lease token', token)
      return lease.cancel === null ? {} : { cancel: lease.cancel as CancelMode }
    },

    async release(ref, token) {
      const key = checkRef(who, ref)
      await query((db) => remove(db, { ...key, token: wholeToken(token) }))
    },

    async requestCancel(ref, { mode = 'now', runId }) {
      const key = checkRef(who, ref)
      check(who, MODES.includes(mode), `a cancel mode of ${MODES.join(', ')}`, mode)
      return write(async (tx) => {
        const lease = await locked(engine, liveLease(tx, key, now())).executeTakeFirst()
        if (!lease || (runId !== undefined && toColumn(runId) !== lease.run_id)) return false
        if (lease.cancel === null || MODES.indexOf(mode) > MODES.indexOf(lease.cancel as CancelMode)) {
          await tx.updateTable('troupe_leases').set({ cancel: mode }).where('token', '=', lease.token).execute()
        }
        return true
      })
    },
  }
}

/** Checks a token without the database: only a whole number can match a lease. */
function wholeToken(token: number): number {
  return Number.isSafeInteger(token) ? token : -1
}

function liveLease(tx: Queries, key: ThreadKey, now: number) {
  return ownerOf(tx, key)
    .innerJoin('troupe_leases as t', 't.owner', 'o.id')
    .where('t.thread_id', '=', key.threadId)
    .where('t.expires_at', '>', now)
    .select(['t.token', 't.run_id', 't.cancel'])
}

/** Ends the records that the former holder left open: its run, nested runs, and their calls. */
async function failRuns(tx: Transaction<Tables>, thread: number, holder: string, endedAt: number): Promise<void> {
  const lost = new Set([holder])
  for (let parents = [holder]; parents.length > 0; ) {
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
    parents = children.filter((id) => !lost.has(id))
    for (const id of parents) lost.add(id)
  }
  const error = { code: 'LEASE_LOST', message: `lease: expired and taken over, ${got(fromColumn(holder))}` }
  for (const some of statements([...lost])) {
    await tx
      .updateTable('troupe_runs')
      .set({ status: 'failed', error: JSON.stringify(error), ended_at: endedAt })
      .where('thread', '=', thread)
      .where('run_id', 'in', some)
      .where('status', '=', 'generating')
      .execute()
    await tx
      .updateTable('troupe_tool_calls')
      .set({ status: 'unknown', result: JSON.stringify({ content: UNKNOWN_RESULT }), ended_at: endedAt })
      .where('thread', '=', thread)
      .where('run_id', 'in', some)
      .where('status', '=', 'running')
      .execute()
  }
}
