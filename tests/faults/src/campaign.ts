import { type CaseResult, Tally } from './campaign-result.ts'
import { killCase } from './cases/kill-case.ts'
import { stopCase } from './cases/stop-case.ts'
import { storeFaultCase } from './cases/store-fault-case.ts'
import type { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import type { Measure } from './worker/baseline.ts'

/** The stores under test. */
export const STORES: readonly StoreKind[] = ['sqlite', 'postgres']

/** What can be tried: processes that are killed, stores that fail, processes that are stopped. */
export const CAMPAIGNS = ['kills', 'faults', 'stops'] as const

/** One of them. */
export type Campaign = (typeof CAMPAIGNS)[number]

/** How much is tried. */
export interface Extent {
  readonly seeds: readonly number[]
  /** What there is to hit on this store. */
  readonly whole: Measure
  /** Cases at the same time; those that wait more than they work may be many. */
  readonly atOnce: number
  /** Told after each case. */
  readonly progress?: (tally: Tally) => void
}

/** Tries one kind of fault on one store, once for each seed. */
export async function tryOut(
  databases: Databases,
  campaign: Campaign,
  kind: StoreKind,
  { seeds, atOnce, whole, progress }: Extent,
): Promise<Tally> {
  const tally = new Tally(campaign, kind)
  const began = performance.now()
  const left = [...seeds]
  const lane = async () => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      try {
        tally.add(seed, await CASES[campaign](databases, kind, seed, whole))
      } catch (error) {
        tally.fail(seed, error instanceof Error ? (error.stack ?? error.message) : String(error))
      }
      progress?.(tally)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  tally.ms = performance.now() - began
  return tally
}

type Case = (databases: Databases, kind: StoreKind, seed: number, whole: Measure) => Promise<CaseResult>

const CASES: { readonly [campaign in Campaign]: Case } = { kills: killCase, faults: storeFaultCase, stops: stopCase }
