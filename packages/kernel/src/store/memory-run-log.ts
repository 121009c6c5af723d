import { checkId, checkNumber, failure, type Log, locate, type MemoryData, wake } from './memory-data.ts'
import type { RunLogStore } from './store.ts'

/** Run logs in memory. */
export function memoryRunLog(data: MemoryData): RunLogStore {
  return {
    async append(ref, runId, after, events, close = false) {
      const { row } = locate(data, ref)
      checkId('runId', runId)
      checkNumber('after', after)
      if (!row) throw failure('NOT_FOUND', 'unknown thread', ref.threadId)
      const log: Log = row.logs.get(runId) ?? { events: [], closed: false, gone: false, waiting: new Set() }
      const last = log.events.length
      if (log.closed || after !== last) {
        throw failure('VERSION_CONFLICT', `the log ${log.closed ? 'was closed' : 'ends'} at ${last}`, after)
      }
      for (const event of events) log.events.push(event)
      log.closed = close
      row.logs.set(runId, log)
      wake(log)
      return log.events.length
    },

    async *follow(ref, runId, { after = 0, live = true, signal }) {
      const { row } = locate(data, ref)
      checkId('runId', runId)
      checkNumber('after', after)
      const log = row?.logs.get(runId)
      if (!log) throw failure('NOT_FOUND', 'unknown run log', runId)
      let from = Math.max(0, Math.floor(after))
      while (!signal.aborted && !log.gone) {
        if (from < log.events.length) {
          const batch = log.events.slice(from).map((event, i) => ({ seq: from + i + 1, event }))
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
