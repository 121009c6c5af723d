import { type Expression, sql } from 'kysely'
import type { SqlDatabase } from './open-database.ts'

/** The time by which leases are measured. */
export interface LeaseTime {
  /** Fills the slot `now`, and the slot of a lease that expires in some time. */
  readonly now: (inMs?: number) => number
  /** The time now, from its slot or value. */
  at<Now extends number | Expression<number>>(now: Now): Now | Expression<number>
  /** When a lease expires, from its slot. */
  expiry(slot: Expression<number>): Expression<number>
}

/** Contract: the clock of the database, if all processes share it, so that a process whose clock is wrong neither takes live leases nor loses its own. */
export function leaseTime({ engine, now }: Pick<SqlDatabase, 'engine' | 'now'>): LeaseTime {
  const { time } = engine
  if (!time) return { now: (inMs = 0) => now() + inMs, at: (given) => given, expiry: (slot) => slot }
  return { now: (inMs = 0) => inMs, at: () => time, expiry: (slot) => sql<number>`${time} + ${slot}` }
}
