import { checkJournal } from '../store/check-journal.ts'
import { checkMaintenance } from '../store/check-page.ts'
import { checkRef } from '../store/check-ref.ts'
import { holdsLease } from '../store/lease.ts'
import { journalNotFound, leaseLost, threadNotFound } from '../store/refusals.ts'
import type { JournalStore } from '../store/store.ts'
import { allThreads, findThread, type MemoryData, olderThan, refuseClosed, WHO } from './memory-data.ts'

/** Journals in memory. */
export function memoryJournal(data: MemoryData): JournalStore {
  return {
    async append(ref, runId, entries, token) {
      checkRef(WHO, ref)
      checkJournal(WHO, runId, entries)
      const { row, lease } = findThread(data, ref)
      if (!holdsLease(lease, token)) throw leaseLost(WHO, token)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      if (row.journal?.runId !== runId) throw journalNotFound(WHO, runId)
      for (const entry of entries) row.journal.entries.push(entry)
      row.journal.at = data.now()
    },

    async read(ref) {
      checkRef(WHO, ref)
      const journal = findThread(data, ref).row?.journal
      return journal && { runId: journal.runId, entries: [...journal.entries] }
    },

    async lost(query) {
      checkMaintenance(WHO, query)
      refuseClosed(data)
      const runs = allThreads(data).flatMap(({ thread, journal }) =>
        journal && !findThread(data, thread.ref).live ? { ref: thread.ref, runId: journal.runId, at: journal.at } : [],
      )
      return olderThan(query, 'at', runs)
    },
  }
}
