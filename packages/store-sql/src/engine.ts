import type { Clock, KernelError } from '@troupe/kernel'
import type { AliasableExpression, Expression, Kysely, SqlBool, Transaction } from 'kysely'
import type { LogWatch } from './log-watch.ts'
import type { Flavour, Tables } from './schema.ts'

/** The parts of a database that the ports need beyond kysely. */
export interface Engine {
  /** The name in error messages: `sqliteStore`. */
  readonly who: string
  readonly flavour: Flavour
  readonly db: Kysely<Tables>
  /** The same database, where commits do not wait for the disk; absent if they never do. Contract: a commit of `db` keeps what was committed before it. */
  readonly relaxed?: Kysely<Tables>
  /** The same database, where what a transaction deletes is overwritten; absent if the database has no such way. */
  readonly overwriting?: Kysely<Tables>
  /** Empties the log of writes, which still has what was overwritten. Contract: leaves it if others read for too long. */
  readonly emptyLog?: () => Promise<void>
  readonly clock: Clock
  /** The time of the database in milliseconds, if it measures leases. */
  readonly time?: Expression<number>
  readonly watch: LogWatch
  /** Contract: called in the transaction that migrates, before anything is read; a second process waits. */
  readonly lockSchema: (tx: Transaction<Tables>) => Promise<void>
  /** Limits how long one statement outside a transaction waits for a lock. Contract: always true; evaluated before the statement locks a row. */
  readonly lockLimit?: Expression<SqlBool>
  /** Notifies other processes. Contract: called in the transaction that changes logs; absent if other processes poll. */
  readonly announce?: (tx: Transaction<Tables>, logs: readonly number[]) => Promise<void>
  /** Absent if a statement needs no round trip. */
  readonly appendAtOnce?: AppendAtOnce
  /** Whether a transaction lost against another and may succeed when it is retried. */
  readonly lostRace: (error: unknown) => boolean
  /** Converts an error of the driver to a KernelError. */
  readonly coded: (error: unknown) => KernelError
  /** Closes resources that kysely does not own. */
  readonly close?: () => Promise<void>
}

/** What a single statement needs that writes to run logs, where statements are round trips. */
export interface AppendAtOnce {
  /** Contract: evaluated in the statement, which then does not wait for the disk. */
  readonly relax: AliasableExpression<unknown>
  /** Notifies other processes of the logs with these ids, which are separated by commas; of none if there is no text. */
  readonly announce: (logs: Expression<string | null>) => AliasableExpression<unknown>
}

/** A database, or a transaction in it, for queries. */
export type Queries = Kysely<Tables>
