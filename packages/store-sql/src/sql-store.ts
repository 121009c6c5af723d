import type { FullStore } from '@troupe/kernel'
import type { batchAtOnce } from './batch-at-once.ts'
import type { commitAtOnce } from './commit-at-once.ts'
import type { Engine } from './engine.ts'
import { openDatabase } from './open-database.ts'
import { sqlBlobs } from './sql-blobs.ts'
import { sqlCounters } from './sql-counters.ts'
import { sqlFacts } from './sql-facts.ts'
import { sqlGrants } from './sql-grants.ts'
import { sqlJournal } from './sql-journal.ts'
import { sqlLeases } from './sql-leases.ts'
import { sqlRecords } from './sql-records.ts'
import { sqlRunLog } from './sql-run-log.ts'
import { sqlThreads } from './sql-threads.ts'

/** Writes in one statement what otherwise takes several, for a database whose statements are round trips. */
export interface AtOnce {
  readonly commit: typeof commitAtOnce
  readonly batch: typeof batchAtOnce
}

/** All store ports over one engine; `ready` opens and migrates the database now, instead of at the first use. */
export function sqlStore(engine: Engine, atOnce?: AtOnce): FullStore & { ready(): Promise<void> } {
  const database = openDatabase(engine)
  return {
    threads: sqlThreads(database, atOnce?.commit(database)),
    records: sqlRecords(database, atOnce?.batch()),
    runLog: sqlRunLog(database),
    journal: sqlJournal(database),
    leases: sqlLeases(database),
    grants: sqlGrants(database),
    counters: sqlCounters(database),
    facts: sqlFacts(database),
    blobs: sqlBlobs(database),
    ready: database.ready,
    [Symbol.asyncDispose]: database.close,
  }
}
