/** The whole campaign: `node main.ts [kills|faults|stops] [sqlite|postgres]`; SEED=17 repeats one case of each. */
import { CAMPAIGNS, type Campaign, STORES, tryOut } from './campaign.ts'
import type { Tally } from './campaign-result.ts'
import { report } from './report.ts'
import { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import { measure } from './worker/baseline.ts'

/** How many of each, on each store. */
const COUNTS: { readonly [campaign in Campaign]: number } = { kills: 200, faults: 200, stops: 40 }
/** Cases of a store at the same time: those that wait more than they work may be more. */
const AT_ONCE: { readonly [campaign in Campaign]: number } = { kills: 2, faults: 6, stops: 2 }

const { SEED } = process.env
const wanted = (name: string, all: readonly string[]) => {
  const named = all.filter((each) => process.argv.includes(each))
  return named.length === 0 || named.includes(name)
}

function seedsOf(campaign: Campaign): readonly number[] {
  return SEED === undefined ? Array.from({ length: COUNTS[campaign] }, (_, i) => i) : SEED.split(',').map(Number)
}

async function main(): Promise<boolean> {
  await using databases = await Databases.start()
  const tallies: Tally[] = []
  const onStore = async (kind: StoreKind) => {
    const whole = await measure(databases, kind)
    for (const campaign of CAMPAIGNS.filter((name) => wanted(name, CAMPAIGNS))) {
      const seeds = seedsOf(campaign)
      const progress = ({ cases, failures }: Tally) => {
        if (cases % 20 > 0) return
        console.log(`${campaign} on ${kind}: ${cases} of ${seeds.length}, ${failures.length} violations`)
      }
      tallies.push(await tryOut(databases, campaign, kind, { seeds, atOnce: AT_ONCE[campaign], whole, progress }))
    }
  }
  await Promise.all(STORES.filter((name) => wanted(name, STORES)).map(onStore))
  console.log(`\n${report(tallies)}`)
  return tallies.every(({ failures }) => failures.length === 0)
}

if (!(await main())) process.exitCode = 1
