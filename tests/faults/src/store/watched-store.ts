import type { Store } from '@troupe/kernel'

/** Receives a call of a store before it is made: its name, such as `threads.commit`, and a function that makes it. Contract: the caller gets what it returns. */
export type OnCall = (name: string, perform: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>

/** A store whose calls all go through `onCall`, except that following a log is left alone. */
export function watchedStore(store: Store, onCall: OnCall): Store {
  return {
    threads: watchedPort('threads', store.threads, onCall),
    records: watchedPort('records', store.records, onCall),
    runLog: watchedPort('runLog', store.runLog, onCall),
    journal: watchedPort('journal', store.journal, onCall),
    leases: watchedPort('leases', store.leases, onCall),
    grants: watchedPort('grants', store.grants, onCall),
    ...(store.counters && { counters: watchedPort('counters', store.counters, onCall) }),
    ...(store.facts && { facts: watchedPort('facts', store.facts, onCall) }),
    ...(store.blobs && { blobs: watchedPort('blobs', store.blobs, onCall) }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

function watchedPort<Port extends object>(name: string, port: Port, onCall: OnCall): Port {
  return new Proxy(port, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key)
      if (typeof method !== 'function' || key === 'follow') return method
      return (...args: unknown[]) => onCall(`${name}.${String(key)}`, () => method.apply(target, args), args)
    },
  })
}
