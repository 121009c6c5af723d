import { afterAll, beforeAll, expect, test } from 'vitest'
import { CAMPAIGNS, type Campaign, runCampaign, STORES } from './campaign.ts'
import type { CampaignResult } from './campaign-result.ts'
import { report } from './report.ts'
import { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import { type Baseline, measureBaseline } from './worker/baseline.ts'

interface ShortCampaign {
  readonly count: number
  readonly atOnce: number
  /** The seeds that are left out. @default 0 */
  readonly skip?: number
}

/** A small part of `pnpm test:faults`, with other seeds. */
const SHORT: { readonly [campaign in Campaign]: ShortCampaign } = {
  kills: { count: 12, atOnce: 2 },
  faults: { count: 12, atOnce: 12 },
  stops: { count: 3, atOnce: 2 },
  continues: { count: 8, atOnce: 2 },
  // The first seeds freeze a server elsewhere.
  frozen: { count: 1, atOnce: 1, skip: 2 },
  outages: { count: 1, atOnce: 1 },
  clocks: { count: 1, atOnce: 1 },
  rolling: { count: 1, atOnce: 1 },
}
const FIRST_SEED = 1_000

const results: CampaignResult[] = []
const baselines: Map<StoreKind, Baseline> = new Map()
let databases: Databases
beforeAll(async () => {
  databases = await Databases.start()
  await Promise.all(STORES.map(async (kind) => baselines.set(kind, half(await measureBaseline(databases, kind)))))
})
afterAll(async () => {
  await databases[Symbol.asyncDispose]()
  console.log(`\n${report(results)}`)
})

/** Faults come in the first half of a conversation, which saves half of the work. */
function half({ calls, statements, events }: Baseline): Baseline {
  return { calls: calls / 2, statements: statements / 2, events: events / 2 }
}

async function holds(campaign: Campaign, kind: StoreKind): Promise<void> {
  const { count, atOnce, skip = 0 } = SHORT[campaign]
  const seeds = Array.from({ length: count }, (_, i) => FIRST_SEED + skip + i)
  const result = await runCampaign(databases, campaign, kind, {
    seeds,
    atOnce,
    baseline: baselines.get(kind) as Baseline,
  })
  results.push(result)
  expect(result.failures).toEqual([])
  // A conversation may be over before its fault comes.
  expect(result.counts.get(campaign)).toBeGreaterThan(count / 2)
}

// Cases on a faulty store mostly wait; the others need the processors.
test.concurrent.each(STORES)(
  '%s: a process that is killed or stopped, runs that others carry on, and servers that are frozen, cut off, wrong about the time or replaced, lose nothing that was acknowledged',
  async (kind) => {
    for (const campaign of CAMPAIGNS) {
      // Several servers at once are what PostgreSQL is for.
      if (campaign === 'faults' || (campaign === 'rolling' && kind === 'sqlite')) continue
      await holds(campaign, kind)
    }
  },
)

test.concurrent.each(STORES)(
  '%s: a store that fails, hangs or slows down loses nothing that was acknowledged',
  (kind) => holds('faults', kind),
)
