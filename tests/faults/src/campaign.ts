import { CampaignResult, type CaseResult } from './campaign-result.ts'
import { clockCase } from './cases/clock-case.ts'
import { continueCase } from './cases/continue-case.ts'
import { frozenCase } from './cases/frozen-case.ts'
import { killCase } from './cases/kill-case.ts'
import { outageCase } from './cases/outage-case.ts'
import { rollingCase } from './cases/rolling-case.ts'
import { stopCase } from './cases/stop-case.ts'
import { storeFaultCase } from './cases/store-fault-case.ts'
import type { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import type { Baseline } from './worker/baseline.ts'

/** The stores under test. */
export const STORES: readonly StoreKind[] = ['sqlite', 'postgres']

/**
 * The kinds of fault: a process is killed, its store fails, it is stopped, others carry its runs on; of several servers one is frozen,
 * their database goes away, their clocks jump, and they are replaced.
 */
export const CAMPAIGNS = ['kills', 'faults', 'stops', 'continues', 'frozen', 'outages', 'clocks', 'rolling'] as const

/** A kind of fault. */
export type Campaign = (typeof CAMPAIGNS)[number]

/** Options of `runCampaign`. */
export interface CampaignOptions {
  readonly seeds: readonly number[]
  /** How much a fault can hit on this store. */
  readonly baseline: Baseline
  /** The number of cases at the same time. */
  readonly atOnce: number
  /** Called after each case. */
  readonly progress?: (result: CampaignResult) => void
}

/** Runs one kind of fault on one store, once for each seed. */
export async function runCampaign(
  databases: Databases,
  campaign: Campaign,
  kind: StoreKind,
  { seeds, atOnce, baseline, progress }: CampaignOptions,
): Promise<CampaignResult> {
  const result = new CampaignResult(campaign, kind)
  const began = performance.now()
  const left = [...seeds]
  const lane = async () => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      try {
        result.add(seed, await CASES[campaign](databases, kind, seed, baseline))
      } catch (error) {
        result.fail(seed, error instanceof Error ? (error.stack ?? error.message) : String(error))
      }
      progress?.(result)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  result.ms = performance.now() - began
  return result
}

type Case = (databases: Databases, kind: StoreKind, seed: number, baseline: Baseline) => Promise<CaseResult>

const CASES: { readonly [campaign in Campaign]: Case } = {
  kills: killCase,
  faults: storeFaultCase,
  stops: stopCase,
  continues: continueCase,
  frozen: frozenCase,
  outages: outageCase,
  clocks: clockCase,
  rolling: rollingCase,
}
