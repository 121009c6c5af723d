import type { LeaseStore, Thread } from '@troupe/kernel'
import { runIdsAbove } from '@troupe/kernel/store'
import { type Expression, type SqlBool, sql } from 'kysely'
import { toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerOf, patient, threadOf } from './rows.ts'
import { runIdClaims } from './run-id-claims.ts'
import type { ThreadKey } from './thread-key.ts'
import { type ThreadColumns, viewOf } from './thread-view.ts'

type Holder = Parameters<LeaseStore['acquire']>[1]
type Wanted = ThreadKey & { readonly run_id: string; readonly expires_at: number }

const VIEW = [
  't.seq',
  't.version',
  't.waiting',
  't.unfinished',
  't.updated_at',
  't.forked_from',
  't.forked_at',
  't.title',
  't.metadata',
  't.state',
  't.open_calls',
  't.checkpoint',
] as const

/**
 * Takes the lease of a thread that has none for a new run, and claims its id: in PostgreSQL in one statement.
 * Contract: gives nothing, and changes nothing, if the owner is new, or if the thread has a lease, even one that has expired. Where it gives the thread, it
 * locks it first, as everywhere: the last commit may have been made after the statement began.
 */
export function newLease(
  database: SqlDatabase,
): (
  key: ThreadKey,
  holder: Holder,
) => Promise<{ readonly token: number; readonly fresh?: true; readonly thread?: Thread | null } | undefined> {
  const { engine, statement, query, relaxed, write } = database
  const time = leaseTime(database)
  const claim = runIdClaims(database)
  const insert = (db: Queries, { run_id, expires_at, ...key }: Slots<Wanted>, first?: Expression<SqlBool>) => {
    const owner = patient(engine, ownerOf(db, key))
    return db
      .insertInto('troupe_leases')
      .columns(['owner', 'thread_id', 'run_id', 'expires_at'])
      .expression(
        (first ? owner.where(first) : owner).select([
          'o.id',
          sql`${key.threadId}`.as('thread_id'),
          sql`${run_id}`.as('run_id'),
          sql`${time.expiry(expires_at)}`.as('expires_at'),
        ]),
      )
      .onConflict((conflict) => conflict.columns(['owner', 'thread_id']).doNothing())
      .returning(['token', 'owner'])
  }
  const add = compiled((db, wanted: Slots<Wanted>) => insert(db, wanted))
  const addAndClaim = compiled((db, wanted: Slots<Wanted>) =>
    db
      .with('seen', (cte) =>
        patient(engine, threadOf(cte as unknown as Queries, wanted))
          .select(VIEW)
          // Raw, because those of kysely break in a statement with a schema.
          .modifyEnd(sql`for share of t`),
      )
      // The count is there so that the thread is locked first.
      .with('taken', (cte) => insert(cte as unknown as Queries, wanted, sql`(select count(*) from seen) >= 0`))
      .with('claimed', (cte) =>
        cte
          .insertInto('troupe_run_ids')
          .columns(['owner', 'run_id', 'thread_id'])
          .expression(({ selectFrom }) =>
            selectFrom('taken').select([
              'taken.owner',
              sql`${wanted.run_id}`.as('run_id'),
              sql`${wanted.threadId}`.as('thread_id'),
            ]),
          )
          .onConflict((conflict) => conflict.columns(['owner', 'run_id']).doNothing())
          .returning('owner'),
      )
      .selectFrom('taken')
      .leftJoin('claimed', 'claimed.owner', 'taken.owner')
      .leftJoin('seen', (join) => join.onTrue())
      .select(['taken.token', 'taken.owner', 'claimed.owner as claimed'])
      .selectAll('seen'),
  )
  const remove = compiled((db, { token }: Slots<{ token: number }>) =>
    db.deleteFrom('troupe_leases').where('token', '=', token),
  )

  return async (key, holder) => {
    const run_id = toColumn(holder.runId)
    const wanted = { ...key, run_id, expires_at: time.now(holder.ttlMs) }
    const name = { app: key.app, user_id: key.user, thread_id: key.threadId }
    const claimFor = (tx: Queries, owner: number) => claim(tx, owner, holder.runId, key.threadId)
    if (engine.flavour === 'sqlite') {
      // Every process that knows of the lease runs on this machine. If it breaks down, none of them does, and the first commit keeps what was written before it.
      return query(() =>
        relaxed(async (tx) => {
          const [taken] = await add(tx, wanted)
          if (!taken) return undefined
          const fresh = await claimFor(tx, taken.owner)
          return { token: taken.token, ...(fresh && { fresh }) }
        }),
      )
    }
    // The ids above it have to be looked at too.
    if (runIdsAbove(holder.runId).length > 0) return undefined
    const [taken] = await statement((db) => addAndClaim(db, wanted))
    if (!taken) return undefined
    const { token, owner, claimed, ...row } = taken
    if (claimed !== null) {
      return { token, fresh: true, thread: isView(row) ? viewOf({ ...row, ...name, run_id }) : null }
    }
    try {
      const fresh = await write((tx) => claimFor(tx, owner))
      return { token, ...(fresh && { fresh }) }
    } catch (error) {
      await statement((db) => remove(db, { token }))
      throw error
    }
  }
}

type Nullable<Row> = { readonly [Column in keyof Row]: Row[Column] | null }

/** Whether a join has found the thread. */
function isView(row: Nullable<ThreadColumns>): row is ThreadColumns {
  return row.seq !== null
}
