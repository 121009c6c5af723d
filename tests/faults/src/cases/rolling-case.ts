import type { CaseResult } from '../campaign-result.ts'
import { checkSpans } from '../checks/check-spans.ts'
import { Findings } from '../checks/findings.ts'
import { checkServed } from '../checks/served-checks.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import { Balancer } from '../served/balancer.ts'
import { Crowd } from '../served/crowd.ts'
import { ReplicaProcess } from '../served/replica-process.ts'
import { pause } from '../served/talker.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'

const SERVERS = 2

/** Replaces servers behind a load balancer, one after the other, while users talk through it. */
export function rollingCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  return databases.withStorage(kind, `rolling-${seed}`, async ({ address, effects }) => {
    const findings = new Findings()
    const random = seeded(seed)
    const task = { address, effects, leaseMs: 30_000, pauseMs: 10 + random.below(20), busyTimeoutMs: 5_000 }
    await using replicas = new AsyncDisposableStack()
    await using balancer = await Balancer.start(random)
    const start = async () => {
      const replica = replicas.use(await ReplicaProcess.start(task, databases.cache))
      balancer.add(replica.url)
      return replica
    }
    const serving = [await start(), await start()].slice(0, SERVERS)
    const crowd = new Crowd('t', 5, { url: () => balancer.url, silenceMs: 20_000 }, random, findings)
    crowd.talk(5)
    let talking = true
    const settled = crowd.settled().finally(() => {
      talking = false
    })
    let rolling = 0
    const stop = async (replica: ReplicaProcess) => {
      balancer.remove(replica.url)
      const died = await replica.stop().then(() => undefined, String)
      findings.check('a server that is replaced ends well', died === undefined, died)
    }
    while (talking) {
      serving.push(await start())
      await pause(random.below(100))
      await stop(serving.shift() as ReplicaProcess)
      rolling++
    }
    await settled
    const { cut, failed } = crowd.counts
    findings.check(
      'every request is answered',
      cut === 0,
      crowd.talkers.flatMap(({ answers }) => [...answers]),
    )
    findings.check('no turn fails', failed === 0, crowd.codes)
    for (const replica of serving) await stop(replica)
    await using store = await openStore(address)
    checkSpans(findings, effects)
    const done = new Effects(effects).all()
    for (const talker of crowd.talkers) await checkServed(findings, store, talker, done)
    return {
      findings,
      hits: crowd.codes,
      counts: { ...crowd.counts, rolling },
      most: { slowestMs: crowd.slowestMs },
    }
  })
}
