import type { CaseResult } from '../campaign-result.ts'
import { checkSpans } from '../checks/check-spans.ts'
import { effectsOnLostLeases } from '../checks/effects-on-lost-leases.ts'
import { Findings } from '../checks/findings.ts'
import { checkServed } from '../checks/served-checks.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import { Crowd } from '../served/crowd.ts'
import { LeaseFile } from '../served/lease-file.ts'
import { ReplicaProcess } from '../served/replica-process.ts'
import { pause } from '../served/talker.ts'
import { watchRuns } from '../served/watch-runs.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'

const MINUTE = 60_000
const OFFSETS = [-60 * MINUTE, -5 * MINUTE, -MINUTE, 0, 0, MINUTE, 5 * MINUTE, 60 * MINUTE] as const

/** Lets the clocks of two servers jump, forward and back, while users talk and others follow their runs. */
export function clockCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  return databases.withStorage(kind, `clock-${seed}`, async ({ address, effects }) => {
    const findings = new Findings()
    const random = seeded(seed)
    const task = { address, effects, leaseMs: 2_000, pauseMs: 15, busyTimeoutMs: 5_000 }
    await using first = await ReplicaProcess.start(task, databases.cache)
    await using second = await ReplicaProcess.start(task, databases.cache)
    const replicas = [first, second]
    const url = () => random.pick(replicas).url
    const crowd = new Crowd('t', 4, { url, silenceMs: 5_000 }, random, findings)
    crowd.talk(4)
    let talking = true
    const settled = crowd.settled().finally(() => {
      talking = false
    })
    const watching = watchRuns(crowd.talkers, url, random, findings, settled)
    const hits: string[] = []
    while (talking) {
      await Promise.race([settled, pause(100 + random.below(300))])
      const offset = random.pick(OFFSETS)
      random.pick(replicas).setClock(offset)
      hits.push(offset === 0 ? 'right again' : offset > 0 ? 'forward' : 'back')
    }
    await Promise.all([settled, watching])
    const clocks = hits.length
    for (const replica of replicas) {
      const died = await replica.stop().then(() => undefined, String)
      findings.check('a server whose clock jumps ends well', died === undefined, died)
    }
    await using store = await openStore(address)
    checkSpans(findings, effects)
    const done = new Effects(effects).all()
    for (const talker of crowd.talkers) await checkServed(findings, store, talker, done)
    const leases = new LeaseFile(effects)
    const stolen = leases.takenOver
    // Processes on one file have nothing but the clock of their machine.
    const shared = kind === 'postgres'
    findings.check('by the clock of the server nobody takes a live lease', !shared || stolen.length === 0, stolen)
    findings.check('by the clock of the server no turn fails', !shared || crowd.codes.length === 0, crowd.codes)
    const counts = {
      ...crowd.counts,
      clocks,
      stolen: stolen.length,
      staleEffects: effectsOnLostLeases(findings, leases, done),
    }
    return { findings, hits: [...hits, ...crowd.codes], counts, most: { slowestMs: crowd.slowestMs } }
  })
}
