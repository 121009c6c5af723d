import type { Store, ThreadRef } from '@troupe/kernel'
import type { FakeClock } from '../fake-clock.ts'

/** What a clause of the store suite starts with: a fresh store, its clock, and a thread of anna's that nobody has opened yet. */
export interface StoreSetup {
  readonly store: Store
  readonly clock: FakeClock
  readonly ref: ThreadRef
  /** Opens another store on the same data. Contract: only for clauses of stores that keep what they are given. */
  readonly reopen: () => Promise<Store>
}

type Check = (setup: StoreSetup) => Promise<void>

/** Clauses of the store suite by their names, each with what the store's author does if it does not hold. */
export type StoreClauses = { readonly [name: string]: { readonly todo: string; readonly check: Check } }

/** Makes clauses that fail for the same reason and are mended in the same place. */
export function advised(todo: string, checks: { readonly [name: string]: Check }): StoreClauses {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, { todo, check }]))
}
