import type { Awaitable, Clock, Store } from '@troupe/kernel'
import { type Clause, register } from '../clause.ts'
import { fakeClock } from '../fake-clock.ts'
import { anna } from './store-stage.ts'
import { deleteScenes } from './test-store-delete.ts'
import { leaseScenes } from './test-store-leases.ts'
import { listScenes } from './test-store-lists.ts'
import { ownerScenes } from './test-store-owners.ts'
import { recordScenes } from './test-store-records.ts'
import { runLogScenes } from './test-store-run-log.ts'
import { threadScenes } from './test-store-threads.ts'
import { toolCallScenes } from './test-store-tool-calls.ts'
import { usageScenes } from './test-store-usage.ts'

/** Makes a store for one clause. Contract: empty, not shared with any other, and told the time by `clock` alone. */
export type StoreFactory = (clock: Clock) => Awaitable<Store>

/** What the store ports promise, clause by clause. */
export function storeClauses(open: StoreFactory): readonly Clause[] {
  const scenes = [
    threadScenes,
    listScenes,
    recordScenes,
    toolCallScenes,
    usageScenes,
    runLogScenes,
    leaseScenes,
    deleteScenes,
    ownerScenes,
  ]
  return scenes
    .flatMap((scene) => Object.entries(scene))
    .map(([name, play]) => ({
      name,
      async run() {
        const clock = fakeClock()
        const store = await open(clock)
        try {
          await play({ store, clock, ref: anna() })
        } finally {
          await store[Symbol.asyncDispose]()
        }
      },
    }))
}

/**
 * The conformance suite of stores.
 * @example testStore('memoryStore', (clock) => memoryStore({ clock }))
 */
export function testStore(name: string, open: StoreFactory): void {
  register(name, storeClauses(open))
}
