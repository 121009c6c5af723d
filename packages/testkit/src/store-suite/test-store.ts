import type { Awaitable, Clock, Store } from '@troupe/kernel'
import { type Clause, register } from '../clause.ts'
import { fakeClock } from '../fake-clock.ts'
import { Fault, firstCause } from '../fault.ts'
import { attemptClauses } from './attempt-clauses.ts'
import { blobClauses } from './blob-clauses.ts'
import { counterClauses } from './counter-clauses.ts'
import { cutClauses } from './cut-clauses.ts'
import { deleteClauses } from './delete-clauses.ts'
import { factClauses } from './fact-clauses.ts'
import { forkClauses } from './fork-clauses.ts'
import { forkStateClauses } from './fork-state-clauses.ts'
import { grantClauses } from './grant-clauses.ts'
import { journalClauses } from './journal-clauses.ts'
import { knownClauses } from './known-clauses.ts'
import { labelClauses } from './label-clauses.ts'
import { leaseClauses } from './lease-clauses.ts'
import { listClauses } from './list-clauses.ts'
import { malformedClauses } from './malformed-clauses.ts'
import { ownerClauses } from './owner-clauses.ts'
import { pairClauses } from './pair-clauses.ts'
import { recordClauses } from './record-clauses.ts'
import { releaseClauses } from './release-clauses.ts'
import { exclusiveClauses, reopenClauses } from './reopen-clauses.ts'
import { retentionClauses } from './retention-clauses.ts'
import { runLogClauses } from './run-log-clauses.ts'
import { runLogUpkeepClauses } from './run-log-upkeep-clauses.ts'
import { runTextClauses } from './run-text-clauses.ts'
import type { StoreClauses } from './store-clauses.ts'
import { demandStore } from './store-members.ts'
import { anna } from './store-samples.ts'
import { StoreTrace } from './store-trace.ts'
import { takeOverClauses } from './take-over-clauses.ts'
import { threadClauses } from './thread-clauses.ts'
import { toolCallClauses } from './tool-call-clauses.ts'
import { usageClauses } from './usage-clauses.ts'

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
      threadClauses,
      releaseClauses,
      listClauses,
      knownClauses,
      labelClauses,
      recordClauses,
      runTextClauses,
      toolCallClauses,
      usageClauses,
      runLogClauses,
      runLogUpkeepClauses,
      retentionClauses,
      journalClauses,
      leaseClauses,
      takeOverClauses,
      attemptClauses,
      deleteClauses,
      forkClauses,
      cutClauses,
      forkStateClauses,
      grantClauses,
      ownerClauses,
      malformedClauses,
    ].flatMap((clauses) => clausesOf(open, clauses, everywhere)),
    ...clausesOf(open, blobClauses, everywhere, 'blobs'),
    ...clausesOf(open, counterClauses, everywhere, 'counters'),
    ...clausesOf(open, factClauses, everywhere, 'facts'),
    ...clausesOf(open, reopenClauses, ['for-one-instance', 'for-many-instances']),
    ...clausesOf(open, exclusiveClauses, ['for-one-instance']),
    ...clausesOf(open, pairClauses, ['for-many-instances']),
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

/** The clauses for stores that keep what they are given in one of these ways, and have this optional port. */
function clausesOf(
  open: StoreFactory,
  clauses: StoreClauses,
  keeping: readonly Keeps[],
  port?: 'blobs' | 'counters' | 'facts',
): readonly Clause[] {
  return Object.entries(clauses).map(([name, { todo, check }]) => {
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
          if (port && !made.store[port]) return `the store has no ${port}, which are optional`
          const reopen = async () => {
            if (!('reopen' in made)) throw new Fault('The factory gave no `reopen`')
            const again = await made.reopen()
            stores.push(again)
            demandStore(again, 'reopen()')
            return trace.watch(again)
          }
          await check({ store: trace.watch(made.store), clock, ref: anna(), reopen })
        } finally {
          for (const store of stores) await store?.[Symbol.asyncDispose]?.()
        }
      },
    }
  })
}

/** Every clause begins with it. */
const IS_A_STORE: StoreClauses = {
  'is a store': { todo: 'Return a store with its six ports.', check: async () => undefined },
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
