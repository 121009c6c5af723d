import type { FullStore, Store } from '@troupe/kernel'

type Method = (...args: readonly unknown[]) => unknown

/** A store that passes each call to the next of several stores, so that one suite shows whether they agree. */
export function takeTurns(stores: readonly FullStore[]): FullStore {
  let turn = 0
  const port = <Name extends keyof Omit<Store, symbol>>(name: Name): FullStore[Name] =>
    new Proxy({} as FullStore[Name], {
      get: (_, method) => {
        const chosen = stores[turn++ % stores.length]?.[name] as unknown as Record<PropertyKey, Method>
        return (...args: readonly unknown[]) => chosen[method]?.(...args)
      },
    })
  return {
    threads: port('threads'),
    records: port('records'),
    runLog: port('runLog'),
    journal: port('journal'),
    leases: port('leases'),
    grants: port('grants'),
    counters: port('counters'),
    facts: port('facts'),
    blobs: port('blobs'),
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()))
    },
  }
}
