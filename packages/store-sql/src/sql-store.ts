import type { Store } from '@troupe/kernel'
import { sqlLeases } from './leases.ts'
import { sqlRecords } from './records.ts'
import { sqlRunLog } from './run-log.ts'
import { type Engine, openSession } from './session.ts'
import { sqlThreads } from './threads.ts'

/** A store in a database. */
export interface SqlStore extends Store {
  /** Opens and migrates the database now, instead of at the first use. */
  ready(): Promise<void>
}

/** All store ports over one engine. */
export function sqlStore(engine: Engine): SqlStore {
  const session = openSession(engine)
  return {
    threads: sqlThreads(session),
    records: sqlRecords(session),
    runLog: sqlRunLog(session),
    leases: sqlLeases(session),
    ready: session.ready,
    [Symbol.asyncDispose]: session.close,
  }
}
