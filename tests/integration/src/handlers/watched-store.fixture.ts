import type { FullStore } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'

/** A store that keeps everything that was written to it, as JSON. */
export function watchedStore(store: FullStore = memoryStore()): {
  readonly store: FullStore
  readonly written: () => string
} {
  const calls: string[] = []
  const watched = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: readonly unknown[]) => {
          calls.push(JSON.stringify(args, (_, value: unknown) => (value instanceof AbortSignal ? undefined : value)))
          return method.apply(target, args)
        }
      },
    })
  return {
    store: {
      ...store,
      threads: watched(store.threads),
      records: watched(store.records),
      runLog: watched(store.runLog),
      journal: watched(store.journal),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    },
    written: () => calls.join('\n'),
  }
}
