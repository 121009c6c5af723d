import { sql } from 'kysely'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerOf } from './rows.ts'
import type { Tables } from './schema.ts'
import type { ThreadKey } from './thread-key.ts'

type LockedLease = Pick<Tables['troupe_leases'], 'run_id' | 'cancel'> & {
  readonly token: number
  readonly left: number
}

/** Reads the lease of a thread for a write under its token, with the time that is `left` of it. Contract: nobody else takes the lease before the transaction has ended. */
export function leaseLocker(database: SqlDatabase): (tx: Queries, key: ThreadKey) => Promise<readonly LockedLease[]> {
  const { engine } = database
  const time = leaseTime(database)
  const lock = compiled((db, { now, ...key }: Slots<ThreadKey & { now: number }>) =>
    locked(
      engine,
      ownerOf(db, key)
        .innerJoin('troupe_leases as t', 't.owner', 'o.id')
        .where('t.thread_id', '=', key.threadId)
        .select(['t.token', 't.run_id', 't.cancel'])
        .select(sql<number>`t.expires_at - ${time.at(now)}`.as('left')),
      'share',
    ),
  )
  return (tx, key) => lock(tx, { ...key, now: time.now() })
}
