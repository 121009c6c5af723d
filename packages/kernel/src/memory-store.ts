import type { Clock } from './context/clock.ts'
import { checkOptionNames } from './data/option.ts'
import { memoryBlobs } from './memory-store/memory-blobs.ts'
import { memoryCounters } from './memory-store/memory-counters.ts'
import { allThreads, endLogs, type MemoryData } from './memory-store/memory-data.ts'
import { memoryFacts } from './memory-store/memory-facts.ts'
import { memoryGrants } from './memory-store/memory-grants.ts'
import { memoryJournal } from './memory-store/memory-journal.ts'
import { memoryLeases } from './memory-store/memory-leases.ts'
import { memoryRecords } from './memory-store/memory-records.ts'
import { memoryRunLog } from './memory-store/memory-run-log.ts'
import { memoryThreads } from './memory-store/memory-threads.ts'
import type { FullStore } from './store/store.ts'

/** Options of a memory store. */
export interface MemoryStoreOptions {
  /** @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** All store ports in memory, for tests, demos and runs that need not survive the process; returned values are shared, do not change them. */
export function memoryStore(options: MemoryStoreOptions = {}): FullStore {
  checkOptionNames('memoryStore', options, { clock: true })
  const { clock = Date } = options
  const data: MemoryData = { now: () => clock.now(), owners: new Map(), token: 0, grant: 0, closed: false }
  return {
    threads: memoryThreads(data),
    records: memoryRecords(data),
    runLog: memoryRunLog(data),
    journal: memoryJournal(data),
    leases: memoryLeases(data),
    grants: memoryGrants(data),
    counters: memoryCounters(data),
    facts: memoryFacts(data),
    blobs: memoryBlobs(data),
    async [Symbol.asyncDispose]() {
      data.closed = true
      for (const row of allThreads(data)) endLogs(row)
    },
  }
}
