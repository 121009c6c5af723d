import type { LeaseStore } from '@troupe/kernel'
import { runIdsAbove } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerOf, patient } from './rows.ts'
import { runIdClaims } from './run-id-claims.ts'
import type { ThreadKey } from './thread-key.ts'

type Holder = Parameters<LeaseStore['acquire']>[1]
type Wanted = ThreadKey & { readonly run_id: string; readonly expires_at: number }

/**
 * Takes the lease of a thread that has none for a new run, and claims its id: in PostgreSQL in one statement.
 * Contract: gives nothing, and changes nothing, if the owner is new, or if the thread has a lease, even one that has expired. It locks no thread,
 * because nobody writes to a thread without a lease.
 */
export function newLease(
  database: SqlDatabase,
): (key: ThreadKey, holder: Holder) => Promise<{ readonly token: number; readonly fresh?: true } | undefined> {
  const { engine, statement, write } = database
  const time = leaseTime(database)
  const claim = runIdClaims(database)
  const insert = (db: Queries, { run_id, expires_at, ...key }: Slots<Wanted>) =>
    db
      .insertInto('troupe_leases')
      .columns(['owner', 'thread_id', 'run_id', 'expires_at'])
      .expression(
        patient(engine, ownerOf(db, key)).select([
          'o.id',
          sql`${key.threadId}`.as('thread_id'),
          sql`${run_id}`.as('run_id'),
          sql`${time.expiry(expires_at)}`.as('expires_at'),
        ]),
      )
      .onConflict((conflict) => conflict.columns(['owner', 'thread_id']).doNothing())
      .returning(['token', 'owner'])
  const add = compiled(insert)
  const addAndClaim = compiled((db, wanted: Slots<Wanted>) =>
    db
      .with('taken', (cte) => insert(cte as unknown as Queries, wanted))
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
      .select(['taken.token', 'taken.owner', 'claimed.owner as claimed']),
  )
  const remove = compiled((db, { token }: Slots<{ token: number }>) =>
    db.deleteFrom('troupe_leases').where('token', '=', token),
  )

  return async (key, holder) => {
    const run_id = toColumn(holder.runId)
    const wanted = { ...key, run_id, expires_at: time.now(holder.ttlMs) }
    const claimFor = (tx: Queries, owner: number) => claim(tx, owner, holder.runId, key.threadId)
    if (engine.flavour === 'sqlite') {
      return write(async (tx) => {
        const [taken] = await add(tx, wanted)
        if (!taken) return undefined
        const fresh = await claimFor(tx, taken.owner)
        return { token: taken.token, ...(fresh && { fresh }) }
      })
    }
    // The ids above it have to be looked at too.
    if (runIdsAbove(holder.runId).length > 0) return undefined
    const [taken] = await statement((db) => addAndClaim(db, wanted))
    if (!taken) return undefined
    const { token, owner, claimed } = taken
    if (claimed !== null) return { token, fresh: true }
    try {
      const fresh = await write((tx) => claimFor(tx, owner))
      return { token, ...(fresh && { fresh }) }
    } catch (error) {
      await statement((db) => remove(db, { token }))
      throw error
    }
  }
}
