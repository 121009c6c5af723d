import type { LeaseStore } from '@troupe/kernel'
import { runIdTaken } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { toColumn } from './column-text.ts'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerOf, patient } from './rows.ts'
import type { Tables } from './schema.ts'
import type { ThreadKey } from './thread-key.ts'

type Holder = Parameters<LeaseStore['acquire']>[1]
type Wanted = ThreadKey & { readonly run_id: string; readonly expires_at: number }
type RunIdRow = Tables['troupe_run_ids']

/** Claims the id of a run for its thread. Contract: throws `RUN_ID_TAKEN` if a run of another thread has it. */
export function runIdClaim({ who }: SqlDatabase): (tx: Queries, runId: string, row: RunIdRow) => Promise<void> {
  const add = compiled((db, row: Slots<RunIdRow>) =>
    db
      .insertInto('troupe_run_ids')
      .values(row)
      .onConflict((conflict) => conflict.columns(['owner', 'run_id']).doNothing())
      .returning('thread_id'),
  )
  const find = compiled((db, { owner, run_id }: Slots<Pick<RunIdRow, 'owner' | 'run_id'>>) =>
    db.selectFrom('troupe_run_ids').select('thread_id').where('owner', '=', owner).where('run_id', '=', run_id),
  )
  return async (tx, runId, row) => {
    const [added] = await add(tx, row)
    const { thread_id } = added ?? sure(await find(tx, { owner: row.owner, run_id: row.run_id }))
    if (thread_id !== row.thread_id) throw runIdTaken(who, runId)
  }
}

/**
 * Takes the lease of a thread that has none for a new run, and claims its id: in PostgreSQL in one statement.
 * Contract: gives nothing, and changes nothing, if the owner is new or the thread has a lease, even one that has expired. It locks no thread,
 * because nobody writes to a thread without a lease.
 */
export function newLease(
  database: SqlDatabase,
): (key: ThreadKey, holder: Holder) => Promise<{ readonly token: number } | undefined> {
  const { engine, statement, writeLightly } = database
  const time = leaseTime(database)
  const claim = runIdClaim(database)
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
    const claimFor = (tx: Queries, owner: number) => claim(tx, holder.runId, { owner, run_id, thread_id: key.threadId })
    if (engine.flavour === 'sqlite') {
      return writeLightly(async (tx) => {
        const [taken] = await add(tx, wanted)
        if (!taken) return undefined
        await claimFor(tx, taken.owner)
        return { token: taken.token }
      })
    }
    const [taken] = await statement((db) => addAndClaim(db, wanted))
    if (!taken) return undefined
    const { token, owner, claimed } = taken
    if (claimed !== null) return { token }
    try {
      await statement((db) => claimFor(db, owner))
    } catch (error) {
      await statement((db) => remove(db, { token }))
      throw error
    }
    return { token }
  }
}
