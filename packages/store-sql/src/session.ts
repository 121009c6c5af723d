import { type Clock, KernelError } from '@troupe/kernel'
import type { Kysely, Transaction } from 'kysely'
import type { LogWatch } from './log-watch.ts'
import { migrate } from './migrate.ts'
import type { Flavour, Tables } from './schema.ts'

/** What the ports need of a database beyond kysely. */
export interface Engine {
  /** Who speaks in errors: `sqliteStore`. */
  readonly who: string
  readonly flavour: Flavour
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly watch: LogWatch
  /** Contract: called in the transaction that migrates, before anything is looked at; whoever comes second waits. */
  readonly lockSchema: (tx: Transaction<Tables>) => Promise<void>
  /** Contract: called in the transaction that changes logs, to tell other processes; absent where they look for themselves. */
  readonly announce?: (tx: Transaction<Tables>, logs: readonly number[]) => Promise<void>
  /** Whether a transaction lost against another and may succeed when it is played again. */
  readonly lostRace: (error: unknown) => boolean
  /** An error of the driver as one of ours. */
  readonly coded: (error: unknown) => KernelError
  /** Closes what is not kysely's. */
  readonly close?: () => Promise<void>
}

/** A database to ask. */
export type Queries = Kysely<Tables>

/** How the ports use the database. */
export interface Session {
  readonly who: string
  readonly engine: Engine
  readonly now: () => number
  /** Contract: opens and migrates the database first, if nobody has; driver errors come out coded. */
  query<T>(work: (db: Queries) => Promise<T>): Promise<T>
  /** Contract: one transaction, played again when it lost a race, so `work` changes nothing but the database. */
  write<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** `write` as a part of a `query`. */
  transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  ready(): Promise<void>
  close(): Promise<void>
}

const ATTEMPTS = 5

/** Opens the database at first use, counts what is under way, and closes when all of it is done. */
export function openSession(engine: Engine): Session {
  const { who, db, clock, watch } = engine
  const underWay = new Set<Promise<unknown>>()
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
    if (closed) throw new KernelError('STORE_CLOSED', `${who}: used after it was disposed`)
    const job = (async () => {
      try {
        await ready()
        return await work()
      } catch (error) {
        throw KernelError.is(error) ? error : engine.coded(error)
      }
    })()
    underWay.add(job)
    try {
      return await job
    } finally {
      underWay.delete(job)
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
    await Promise.allSettled(underWay)
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

/** Cuts rows or keys into what one statement takes. */
export function* statements<T>(rows: readonly T[]): Generator<readonly T[]> {
  if (rows.length <= ROWS_PER_STATEMENT) {
    if (rows.length > 0) yield rows
    return
  }
  for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) yield rows.slice(i, i + ROWS_PER_STATEMENT)
}
