import type { FullStore } from '@troupe/kernel'
import type { Engine } from './engine.ts'
import { openDatabase } from './open-database.ts'
import { sqlGrants } from './sql-grants.ts'
import { sqlJournal } from './sql-journal.ts'
import { sqlLeases } from './sql-leases.ts'
import { sqlRecords } from './sql-records.ts'
import { sqlRunLog } from './sql-run-log.ts'
import { sqlThreads } from './sql-threads.ts'

/** All store ports over one engine; `ready` opens and migrates the database now, instead of at the first use. */
export function sqlStore(engine: Engine): FullStore & { ready(): Promise<void> } {
  const database = openDatabase(engine)
  return {
    threads: sqlThreads(database),
    records: sqlRecords(database),
    runLog: sqlRunLog(database),
    journal: sqlJournal(database),
    leases: sqlLeases(database),
    grants: sqlGrants(database),
    ready: database.ready,
    [Symbol.asyncDispose]: database.close,
  }
}
