import { type Clock, KernelError } from '@troupe/kernel'
import type { Kysely, Transaction } from 'kysely'
import type { LogWatch } from './log-watch.ts'
import { migrate } from './migrate.ts'
import type { Flavour, Tables } from './schema.ts'

/** The parts of a database that the ports need beyond kysely. */
export interface Engine {
  /** The name in error messages: `sqliteStore`. */
  readonly who: string
  readonly flavour: Flavour
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly watch: LogWatch
  /** Contract: called in the transaction that migrates, before anything is read; a second process waits. */
  readonly lockSchema: (tx: Transaction<Tables>) => Promise<void>
  /** Notifies other processes. Contract: called in the transaction that changes logs; absent if other processes poll. */
  readonly announce?: (tx: Transaction<Tables>, logs: readonly number[]) => Promise<void>
  /** Whether a transaction lost against another and may succeed when it is retried. */
  readonly lostRace: (error: unknown) => boolean
  /** Converts an error of the driver to a KernelError. */
  readonly coded: (error: unknown) => KernelError
  /** Closes resources that kysely does not own. */
  readonly close?: () => Promise<void>
}

/** A database for queries. */
export type Queries = Kysely<Tables>

/** The database as the ports use it. */
export interface Session {
  readonly who: string
  readonly engine: Engine
  readonly now: () => number
  /** Contract: opens and migrates the database first if needed; driver errors become coded errors. */
  query<T>(work: (db: Queries) => Promise<T>): Promise<T>
  /** Contract: one transaction, retried when it loses a race, so `work` must change nothing but the database. */
  write<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** Like `write`, inside a `query`. */
  transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  ready(): Promise<void>
  close(): Promise<void>
}

const ATTEMPTS = 5

/** Opens the database at first use, tracks pending work, and closes when all of it is done. */
export function openSession(engine: Engine): Session {
  const { who, db, clock, watch } = engine
  const pending = new Set<Promise<unknown>>()
  let migrated: Promise<void> | undefined
  let closed: Promise<void> | undefined

  const ready = () => {
    migrated ??= migrate(engine).catch((error: unknown) => {
      migrated = undefined
      throw error
    })
    return migrated
  }

  async function guard<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new KernelError('STORE_CLOSED', `${who}: the store was used after it was disposed`)
    const job = (async () => {
      try {
        await ready()
        return await work()
      } catch (error) {
        throw KernelError.is(error) ? error : engine.coded(error)
      }
    })()
    pending.add(job)
    try {
      return await job
    } finally {
      pending.delete(job)
    }
  }

  async function transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.transaction().execute(work)
      } catch (error) {
        if (attempt === ATTEMPTS || !engine.lostRace(error)) throw error
      }
    }
  }

  async function close(): Promise<void> {
    watch.close()
    await Promise.allSettled(pending)
    await engine.close?.()
    await db.destroy()
  }

  return {
    who,
    engine,
    now: () => clock.now(),
    query: (work) => guard(() => work(db)),
    write: (work) => guard(() => transaction(work)),
    transaction,
    ready: () => guard(async () => {}),
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

/** Rows of one statement: the widest table has twelve columns, which stays below the parameter limits of both databases. */
const ROWS_PER_STATEMENT = 500

/** Splits rows or keys into chunks for one statement each. */
export function* statements<T>(rows: readonly T[]): Generator<readonly T[]> {
  if (rows.length <= ROWS_PER_STATEMENT) {
    if (rows.length > 0) yield rows
    return
  }
  for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) yield rows.slice(i, i + ROWS_PER_STATEMENT)
}
