import { KernelError } from '@troupe/kernel'
import { storeClosed } from '@troupe/kernel/store'
import type { Transaction } from 'kysely'
import type { Engine, Queries } from './engine.ts'
import { migrate } from './migrate.ts'
import type { Tables } from './schema.ts'

/** The database as the ports use it. */
export interface SqlDatabase {
  readonly who: string
  readonly engine: Engine
  readonly now: () => number
  /** Contract: opens and migrates the database first if needed; driver errors become coded errors. */
  query<T>(work: (db: Queries) => Promise<T>): Promise<T>
  /** Like `query`, for one statement that writes. Contract: retried when it loses a race. */
  statement<T>(work: (db: Queries) => Promise<T>): Promise<T>
  /** Contract: one transaction, retried when it loses a race, so `work` must change nothing but the database. */
  write<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** Like `write`, inside a `query`. */
  transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** Like `transaction`, but does not wait for the disk: a machine that breaks down may lose it. */
  relaxed<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** Like `transaction`, but overwrites what it deletes, also where rows move in the file. */
  overwriting<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T>
  ready(): Promise<void>
  close(): Promise<void>
}

const ATTEMPTS = 5

/** Opens the database at first use, tracks pending work, and closes when all of it is done. */
export function openDatabase(engine: Engine): SqlDatabase {
  const { who, db, relaxed = db, overwriting = db, clock, watch } = engine
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
    if (closed) throw storeClosed(who)
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

  async function retried<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt === ATTEMPTS || !engine.lostRace(error)) throw error
      }
    }
  }

  function transaction<T>(work: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return retried(() => db.transaction().execute(work))
  }

  async function close(): Promise<void> {
    watch.close()
    await Promise.allSettled(pending)
    await engine.close?.()
    await relaxed.destroy()
    if (overwriting !== db) await overwriting.destroy()
    if (relaxed !== db) await db.destroy()
  }

  return {
    who,
    engine,
    now: () => clock.now(),
    query: (work) => guard(() => work(db)),
    statement: (work) => guard(() => retried(() => work(db))),
    write: (work) => guard(() => transaction(work)),
    transaction,
    relaxed: (work) => retried(() => relaxed.transaction().execute(work)),
    overwriting: (work) => retried(() => overwriting.transaction().execute(work)),
    ready: () => guard(async () => {}),
    close: () => {
      closed ??= close()
      return closed
    },
  }
}
