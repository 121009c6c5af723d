import { checkRef } from '../store/check-ref.ts'
import { checkAppend, checkCompact, checkFollow, checkPrune } from '../store/check-run-log.ts'
import { logConflict, logNotFound, threadNotFound } from '../store/refusals.ts'
import type { LogEntry, RunLogStore } from '../store/store.ts'
import {
  allThreads,
  endLog,
  findThread,
  type Log,
  type MemoryData,
  olderThan,
  refuseClosed,
  type ThreadData,
  WHO,
  wake,
} from './memory-data.ts'

/** The most events in one batch of a follower. */
const EVENTS_PER_BATCH = 400

/** Run logs in memory. */
export function memoryRunLog(data: MemoryData): RunLogStore {
  return {
    async append(ref, runId, after, events, close = false, texts) {
      checkRef(WHO, ref)
      checkAppend(WHO, runId, after, events, texts)
      const { row } = findThread(data, ref)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const log: Log = row.logs.get(runId) ?? newLog(data.now())
      const conflict = logConflict(WHO, log, after)
      if (conflict) throw conflict
      for (const event of events) log.events.push(event)
      log.last += events.length
      log.closed = close
      if (close) log.at = data.now()
      row.logs.set(runId, log)
      wake(log)
      return log.last
    },

    async *follow(ref, runId, options) {
      checkRef(WHO, ref)
      const { after, live, signal } = checkFollow(WHO, runId, options)
      const log = findThread(data, ref).row?.logs.get(runId)
      if (!log) throw logNotFound(WHO, runId)
      let from = after
      while (!signal.aborted && !log.gone) {
        const batch = entriesAfter(log, from)
        if (batch.length > 0) {
          from = batch.at(-1)?.seq ?? from
          yield batch
        } else if (log.closed || !live) return
        else await change(log, signal)
      }
    },

    async compact(ref, runId, entries) {
      checkRef(WHO, ref)
      checkCompact(WHO, runId, entries)
      const log = findThread(data, ref).row?.logs.get(runId)
      if (!log?.closed || log.seqs || entries.at(-1)?.seq !== log.last) return false
      log.events = entries.map(({ event }) => event)
      log.seqs = entries.map(({ seq }) => seq)
      return true
    },

    async prune(query) {
      checkPrune(WHO, query)
      refuseClosed(data)
      const { apps } = query
      const meant = allThreads(data).filter(({ thread }) => !apps || apps.includes(thread.ref.app))
      const found = meant.flatMap((row) => prunable(data, row))
      const pruned = olderThan(query, 'at', found)
      for (const { row, runId, log } of pruned) {
        row.logs.delete(runId)
        endLog(log)
      }
      return pruned.length
    },
  }
}

function newLog(at: number): Log {
  return { events: [], last: 0, closed: false, at, gone: false, waiting: new Set() }
}

/** The next entries of a follower. */
function entriesAfter({ events, seqs, last }: Log, after: number): readonly LogEntry[] {
  if (after >= last) return []
  const first = seqs ? seqs.findIndex((seq) => seq > after) : after
  return events
    .slice(first, first + EVENTS_PER_BATCH)
    .map((event, i) => ({ seq: seqs?.[first + i] ?? first + i + 1, event }))
}

/** The logs of a thread that nobody writes any more. */
function prunable(data: MemoryData, row: ThreadData) {
  const { ref, unfinished } = row.thread
  const { live } = findThread(data, ref)
  return [...row.logs].flatMap(([runId, log]) =>
    log.closed || (runId !== live?.runId && runId !== unfinished) ? { row, runId, log, at: log.at } : [],
  )
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
