import type { CaseResult } from '../campaign-result.ts'
import { checkSpans } from '../checks/check-spans.ts'
import { Findings } from '../checks/findings.ts'
import { checkServed } from '../checks/served-checks.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import { Crowd } from '../served/crowd.ts'
import { ReplicaProcess } from '../served/replica-process.ts'
import { pause } from '../served/talker.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import { outageOf } from '../store/outage.ts'

const OUTAGE_MS = 500
/** After these the database stays. */
const OUTAGES = 8

/** Takes the database away for half a second, again and again, while users talk through two servers. */
export function outageCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  return databases.withStorage(kind, `outage-${seed}`, async ({ address, effects }) => {
    const findings = new Findings()
    const random = seeded(seed)
    await using outage = await outageOf(address)
    const busyTimeoutMs = random.pick([200, 1_000, 5_000])
    const task = { address: outage.address, effects, leaseMs: 5_000, pauseMs: 15, busyTimeoutMs }
    await using first = await ReplicaProcess.start(task, databases.cache)
    await using second = await ReplicaProcess.start(task, databases.cache)
    const line = { url: () => random.pick([first, second]).url, silenceMs: 5_000 }
    const crowd = new Crowd('t', 4, line, random, findings)
    crowd.talk(4)
    const hits: string[] = []
    let talking = true
    const settled = crowd.settled().finally(() => {
      talking = false
    })
    const [how, between] = [random.pick(outage.kinds), 250 + random.below(700)]
    for (let left = OUTAGES; talking && left > 0; left--) {
      await Promise.race([settled, pause(between)])
      if (!talking) break
      outage.begin(how)
      hits.push(`${how}, statements of ${busyTimeoutMs} ms`)
      await pause(OUTAGE_MS)
      outage.end()
    }
    await settled
    const outages = hits.length
    for (const replica of [first, second]) {
      const died = await replica.stop().then(() => undefined, String)
      findings.check('a server outlives the outages and ends well', died === undefined, died)
    }
    await using store = await openStore(address)
    checkSpans(findings, effects)
    const done = new Effects(effects).all()
    for (const talker of crowd.talkers) await checkServed(findings, store, talker, done)
    const most = { slowestMs: crowd.slowestMs }
    hits.push(...crowd.codes)
    return { findings, hits, counts: { outages, ...crowd.counts }, most }
  })
}
