/** Runs all campaigns: `node main.ts [kills|faults|stops|continues|frozen|outages|clocks|rolling|fuzz] [sqlite|postgres]`; SEED=17 repeats one case of each. */
import { CAMPAIGNS, type Campaign, runCampaign, STORES } from './campaign.ts'
import type { CampaignResult } from './campaign-result.ts'
import { fuzz } from './fuzz/fuzz.ts'
import { fuzzReport } from './fuzz/fuzz-report.ts'
import { report } from './report.ts'
import { Databases } from './store/databases.ts'
import type { StoreKind } from './store/open-store.ts'
import { measureBaseline } from './worker/baseline.ts'

/** The number of cases on each store. */
const COUNTS: { readonly [campaign in Campaign]: number } = {
  kills: 200,
  faults: 200,
  stops: 40,
  continues: 400,
  frozen: 40,
  outages: 30,
  clocks: 40,
  rolling: 20,
}
/** The number of cases of a store at the same time: those on a faulty store mostly wait. */
const AT_ONCE: { readonly [campaign in Campaign]: number } = {
  kills: 2,
  faults: 6,
  stops: 2,
  continues: 2,
  frozen: 1,
  outages: 1,
  clocks: 1,
  rolling: 1,
}

/** The number of fuzzed requests. */
const REQUESTS = 50_000

const { SEED } = process.env
const fuzzes = process.argv.includes('fuzz')
const wanted = (name: string, all: readonly string[]) => {
  const named = all.filter((each) => process.argv.includes(each))
  return named.length === 0 || named.includes(name)
}

function seedsOf(campaign: Campaign): readonly number[] {
  return SEED === undefined ? Array.from({ length: COUNTS[campaign] }, (_, i) => i) : SEED.split(',').map(Number)
}

async function runCampaigns(): Promise<boolean> {
  await using databases = await Databases.start()
  const results: CampaignResult[] = []
  const onStore = async (kind: StoreKind) => {
    const baseline = await measureBaseline(databases, kind)
    for (const campaign of CAMPAIGNS.filter((name) => wanted(name, CAMPAIGNS))) {
      const seeds = seedsOf(campaign)
      let shown = 0
      const progress = ({ cases, failures }: CampaignResult) => {
        for (const failure of failures.slice(shown)) console.log(failure)
        shown = failures.length
        if (cases % 20 > 0) return
        console.log(`${campaign} on ${kind}: ${cases} of ${seeds.length}, ${failures.length} violations`)
      }
      results.push(
        await runCampaign(databases, campaign, kind, { seeds, atOnce: AT_ONCE[campaign], baseline, progress }),
      )
    }
  }
  await Promise.all(STORES.filter((name) => wanted(name, STORES)).map(onStore))
  console.log(`\n${report(results)}`)
  return results.every(({ failures }) => failures.length === 0)
}

async function runFuzzer(): Promise<boolean> {
  const figures = await fuzz(REQUESTS, Number(SEED ?? 0))
  console.log(fuzzReport(figures))
  return figures.failures.length === 0
}

const named = CAMPAIGNS.some((name) => process.argv.includes(name))
const held = (!fuzzes || named ? await runCampaigns() : true) && (fuzzes || !named ? await runFuzzer() : true)
if (!held) process.exitCode = 1
