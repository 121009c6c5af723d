import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Campaign, STORES, tryOut } from './campaign.ts'
import type { Tally } from './campaign-result.ts'
import { report } from './report.ts'
import { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import { type Measure, measure } from './worker/baseline.ts'

/** A few of the cases of `pnpm test:faults`, with seeds of their own. */
const SHORT: { readonly [campaign in Campaign]: { readonly count: number; readonly atOnce: number } } = {
  kills: { count: 12, atOnce: 2 },
  faults: { count: 12, atOnce: 12 },
  stops: { count: 3, atOnce: 2 },
}
const FIRST_SEED = 1_000

const tallies: Tally[] = []
const wholes: Map<StoreKind, Measure> = new Map()
let databases: Databases
beforeAll(async () => {
  databases = await Databases.start()
  await Promise.all(STORES.map(async (kind) => wholes.set(kind, half(await measure(databases, kind)))))
})
afterAll(async () => {
  await databases[Symbol.asyncDispose]()
  console.log(`\n${report(tallies)}`)
})

/** Whoever is hit in the first half of a conversation, whose turns are in any order, has done half the work. */
function half({ calls, statements, lines }: Measure): Measure {
  return { calls: calls / 2, statements: statements / 2, lines: lines / 2 }
}

async function holds(campaign: Campaign, kind: StoreKind): Promise<void> {
  const { count, atOnce } = SHORT[campaign]
  const seeds = Array.from({ length: count }, (_, i) => FIRST_SEED + i)
  const tally = await tryOut(databases, campaign, kind, { seeds, atOnce, whole: wholes.get(kind) as Measure })
  tallies.push(tally)
  expect(tally.failures).toEqual([])
  expect(tally.counts.get(campaign)).toBeGreaterThanOrEqual(count)
}

// Those on a faulty store wait most of the time, the others need the processors.
test.concurrent.each(STORES)(
  '%s: a process that is killed or stopped loses nothing that was acknowledged',
  async (kind) => {
    await holds('kills', kind)
    await holds('stops', kind)
  },
)

test.concurrent.each(STORES)(
  '%s: a store that fails, hangs or slows down loses nothing that was acknowledged',
  (kind) => holds('faults', kind),
)
