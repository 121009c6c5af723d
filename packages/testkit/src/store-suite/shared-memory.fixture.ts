import type { Clock, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'

/** Data in memory that several stores have open, as processes share a database: closing one ends its own followers alone. */
export function sharedMemory(clock: Clock): () => Store {
  const data = memoryStore({ clock })
  return () => {
    const closed = new AbortController()
    return {
      ...data,
      runLog: {
        ...data.runLog,
        async *follow(ref, runId, { signal, ...options }) {
          const ended = new AbortController()
          const end = () => ended.abort()
          for (const source of [signal, closed.signal]) {
            if (source.aborted) end()
            source.addEventListener('abort', end)
          }
          try {
            yield* data.runLog.follow(ref, runId, { ...options, signal: ended.signal })
          } finally {
            for (const source of [signal, closed.signal]) source.removeEventListener('abort', end)
          }
        },
      },
      async [Symbol.asyncDispose]() {
        closed.abort()
      },
    }
  }
}
