import type { Awaitable, Clock, Store } from '@troupe/kernel'
import { type Clause, register } from '../clause.ts'
import { fakeClock } from '../fake-clock.ts'
import { Fault, firstCause } from '../fault.ts'
import { demandStore } from './store-members.ts'
import { anna, type StoreScenes } from './store-stage.ts'
import { StoreTrace } from './store-trace.ts'
import { deleteScenes } from './test-store-delete.ts'
import { leaseScenes } from './test-store-leases.ts'
import { listScenes } from './test-store-lists.ts'
import { ownerScenes } from './test-store-owners.ts'
import { recordScenes } from './test-store-records.ts'
import { exclusiveScenes, reopenScenes } from './test-store-reopened.ts'
import { runLogScenes } from './test-store-run-log.ts'
import { runTextScenes } from './test-store-run-text.ts'
import { threadScenes } from './test-store-threads.ts'
import { toolCallScenes } from './test-store-tool-calls.ts'
import { pairScenes } from './test-store-two.ts'
import { usageScenes } from './test-store-usage.ts'

/** Makes a store for one clause. Contract: empty, not shared with any other, and told the time by `clock` alone. */
export type StoreFactory = (clock: Clock) => Awaitable<Store | OpenedStore>

/**
 * A store, and how long what it keeps lives; a bare `Store` leaves that open, and is not tested for it.
 * Contract: `reopen` opens the same data again, with the same clock: after the first store was closed, and for
 * `many-instances` also while it is open.
 */
export type OpenedStore =
  | { readonly store: Store; readonly keeps: 'nothing' }
  | {
      readonly store: Store
      /** Who may have the data open: one store at a time, or several, in other processes too. */
      readonly keeps: 'for-one-instance' | 'for-many-instances'
      readonly reopen: () => Awaitable<Store>
    }

type Keeps = OpenedStore['keeps']

/** What the store ports promise, clause by clause. */
export function storeClauses(open: StoreFactory): readonly Clause[] {
  const everywhere: readonly Keeps[] = ['nothing', 'for-one-instance', 'for-many-instances']
  return [
    ...clausesOf(open, IS_A_STORE, everywhere),
    ...[
      threadScenes,
      listScenes,
      recordScenes,
      runTextScenes,
      toolCallScenes,
      usageScenes,
      runLogScenes,
      leaseScenes,
      deleteScenes,
      ownerScenes,
    ].flatMap((scenes) => clausesOf(open, scenes, everywhere)),
    ...clausesOf(open, reopenScenes, ['for-one-instance', 'for-many-instances']),
    ...clausesOf(open, exclusiveScenes, ['for-one-instance']),
    ...clausesOf(open, pairScenes, ['for-many-instances']),
  ]
}

/**
 * The conformance suite of stores.
 * @example testStore('memoryStore', (clock) => ({ store: memoryStore({ clock }), keeps: 'nothing' }))
 * @example testStore('sqliteStore', (clock) => {
 *   const options = { path: newFile(), clock }
 *   return { store: sqliteStore(options), keeps: 'for-many-instances', reopen: () => sqliteStore(options) }
 * })
 */
export function testStore(name: string, open: StoreFactory): void {
  register(name, storeClauses(open))
}

function clausesOf(open: StoreFactory, scenes: StoreScenes, keeping: readonly Keeps[]): readonly Clause[] {
  return Object.entries(scenes).map(([name, { todo, play }]) => {
    const trace = new StoreTrace()
    return {
      name,
      todo,
      seen: () => trace.toString(),
      async run() {
        const clock = fakeClock()
        const made = await opened(open, clock)
        const stores = [made.store]
        try {
          demandStore(made.store, 'The factory')
          if (keeping.length < 3 && !keeping.includes(made.keeps as Keeps)) return passedOver(made.keeps)
          const reopen = async () => {
            if (!('reopen' in made)) throw new Fault('The factory gave no `reopen`')
            const again = await made.reopen()
            stores.push(again)
            demandStore(again, 'reopen()')
            return trace.watch(again)
          }
          await play({ store: trace.watch(made.store), clock, ref: anna(), reopen })
        } finally {
          for (const store of stores) await store?.[Symbol.asyncDispose]?.()
        }
      },
    }
  })
}

/** Every clause begins with it. */
const IS_A_STORE: StoreScenes = {
  'is a store': { todo: 'Return a store with its four ports.', play: async () => undefined },
}

async function opened(open: StoreFactory, clock: Clock): Promise<OpenedStore | { store: Store; keeps?: never }> {
  try {
    const made = await open(clock)
    return typeof made === 'object' && made !== null && 'store' in made ? made : { store: made }
  } catch (error) {
    throw firstCause(error, (text) => `The factory of the store threw ${text}`)
  }
}

function passedOver(keeps: Keeps | undefined): string {
  return keeps === undefined
    ? "the factory gave a bare store; give { store, keeps: 'for-many-instances', reopen } to have it tested"
    : `the factory says that the store keeps ${keeps.replaceAll('-', ' ')}`
}
