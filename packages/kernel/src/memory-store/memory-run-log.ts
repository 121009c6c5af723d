import { checkRef } from '../store/check-ref.ts'
import { checkAppend, checkFollow } from '../store/check-run-log.ts'
import { logConflict, logNotFound, threadNotFound } from '../store/refusals.ts'
import type { RunLogStore } from '../store/store.ts'
import { findThread, type Log, type MemoryData, WHO, wake } from './memory-data.ts'

/** The most events in one batch of a follower. */
const EVENTS_PER_BATCH = 400

/** Run logs in memory. */
export function memoryRunLog(data: MemoryData): RunLogStore {
  return {
    async append(ref, runId, after, events, close = false) {
      checkRef(WHO, ref)
      checkAppend(WHO, runId, after, events)
      const { row } = findThread(data, ref)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const log: Log = row.logs.get(runId) ?? { events: [], closed: false, gone: false, waiting: new Set() }
      const conflict = logConflict(WHO, { last: log.events.length, closed: log.closed }, after)
      if (conflict) throw conflict
      for (const event of events) log.events.push(event)
      log.closed = close
      row.logs.set(runId, log)
      wake(log)
      return log.events.length
    },

    async *follow(ref, runId, options) {
      checkRef(WHO, ref)
      const { after, live, signal } = checkFollow(WHO, runId, options)
      const log = findThread(data, ref).row?.logs.get(runId)
      if (!log) throw logNotFound(WHO, runId)
      let from = after
      while (!signal.aborted && !log.gone) {
        if (from < log.events.length) {
          const batch = log.events
            .slice(from, from + EVENTS_PER_BATCH)
            .map((event, i) => ({ seq: from + i + 1, event }))
          from += batch.length
          yield batch
        } else if (log.closed || !live) return
        else await change(log, signal)
      }
    },
  }
}

/** Contract: holds no reference to the log or the signal between reads, so an abandoned follower leaks nothing. */
function change(log: Log, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const resume = () => {
      log.waiting.delete(resume)
      signal.removeEventListener('abort', resume)
      resolve()
    }
    log.waiting.add(resume)
    signal.addEventListener('abort', resume)
  })
}
