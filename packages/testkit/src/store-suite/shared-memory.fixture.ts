import type { Clock, FullStore, RunLogStore } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { storeClosed } from '@troupe/kernel/store'

/** Data in memory that several stores have open, as processes share a database: closing one ends its own followers alone. */
export function sharedMemory(clock: Clock): () => FullStore {
  const data = memoryStore({ clock })
  return () => {
    const closing = new AbortController()
    const { signal: closed } = closing
    return {
      threads: whileOpen(data.threads, closed),
      records: whileOpen(data.records, closed),
      journal: whileOpen(data.journal, closed),
      leases: whileOpen(data.leases, closed),
      grants: whileOpen(data.grants, closed),
      counters: whileOpen(data.counters, closed),
      facts: whileOpen(data.facts, closed),
      blobs: whileOpen(data.blobs, closed),
      runLog: { ...whileOpen(data.runLog, closed), follow: followWhileOpen(data.runLog, closed) },
      async [Symbol.asyncDispose]() {
        closing.abort()
      },
    }
  }
}

function refuseClosed({ aborted }: AbortSignal): void {
  if (aborted) throw storeClosed('sharedMemory')
}

/** A port whose methods reject once it is closed. */
function whileOpen<Port extends object>(port: Port, closed: AbortSignal): Port {
  const methods = Object.entries(port).map(([name, method]) => [
    name,
    async (...args: readonly unknown[]) => {
      refuseClosed(closed)
      return method(...args)
    },
  ])
  return Object.fromEntries(methods)
}

function followWhileOpen(runLog: RunLogStore, closed: AbortSignal): RunLogStore['follow'] {
  return async function* follow(ref, runId, options) {
    refuseClosed(closed)
    if (!(options?.signal instanceof AbortSignal)) return yield* runLog.follow(ref, runId, options)
    const ended = new AbortController()
    const end = () => ended.abort()
    const sources = [options.signal, closed]
    for (const source of sources) {
      if (source.aborted) end()
      source.addEventListener('abort', end)
    }
    try {
      yield* runLog.follow(ref, runId, { ...options, signal: ended.signal })
    } finally {
      for (const source of sources) source.removeEventListener('abort', end)
    }
  }
}
