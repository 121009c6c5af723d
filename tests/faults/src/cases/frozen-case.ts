import type { CaseResult } from '../campaign-result.ts'
import { checkSpans } from '../checks/check-spans.ts'
import { effectsOnLostLeases } from '../checks/effects-on-lost-leases.ts'
import { Findings } from '../checks/findings.ts'
import { checkServed } from '../checks/served-checks.ts'
import { Effects } from '../conversation/effects.ts'
import { type Random, seeded } from '../random.ts'
import { Crowd } from '../served/crowd.ts'
import { LeaseFile } from '../served/lease-file.ts'
import { ReplicaProcess } from '../served/replica-process.ts'
import type { FreezePoint } from '../served/replica-task.ts'
import { pause } from '../served/talker.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'

const LEASE_MS = 600
/** How long a store waits for a lock, and how long the server of PostgreSQL keeps a transaction whose process does nothing. */
const LOCK_MS = 400
/** A request that waits this long on a healthy server waits for the frozen one; the machine may be busy. */
const LONGEST_MS = 5_000

/** Freezes one of two servers past the leases of its runs and thaws it, while users talk through both of them. */
export function frozenCase(databases: Databases, kind: StoreKind, seed: number): Promise<CaseResult> {
  return databases.withStorage(kind, `frozen-${seed}`, async ({ address, effects }) => {
    const findings = new Findings()
    const random = seeded(seed)
    const freezeAt = pointOf(seed, random)
    const task = { address, effects, leaseMs: LEASE_MS, pauseMs: 15, busyTimeoutMs: LOCK_MS }
    await using healthy = await ReplicaProcess.start(task, databases.cache)
    await using frozen = await ReplicaProcess.start({ ...task, ...(freezeAt && { freezeAt }) }, databases.cache)
    let reachable = true
    const url = () => (reachable && random.chance(0.7) ? frozen.url : healthy.url)
    const users = new Crowd('t', 3, { url, silenceMs: 1_000 }, random, findings)
    const bystanders = new Crowd('b', 2, { url: () => healthy.url, silenceMs: 20_000 }, random, findings)
    users.talk(3)
    bystanders.talk(5)
    const at = await freeze(frozen, freezeAt, random)
    reachable = false
    await pause(LEASE_MS + 300 + random.below(900))
    frozen.signal('SIGCONT')
    reachable = true
    await Promise.all([users.settled(), bystanders.settled()])
    for (const replica of [healthy, frozen]) {
      const died = await replica.stop().then(() => undefined, String)
      findings.check('a server that was frozen, or was beside one, ends well', died === undefined, died)
    }
    const { slowestMs } = bystanders
    findings.check('nobody waits for a frozen server', slowestMs < LONGEST_MS, slowestMs)
    await using store = await openStore(address)
    checkSpans(findings, effects)
    const done = new Effects(effects).all()
    for (const talker of [...users.talkers, ...bystanders.talkers]) await checkServed(findings, store, talker, done)
    const leases = new LeaseFile(effects)
    const counts = {
      ...users.countsWith(bystanders),
      frozen: 1,
      takenOver: leases.takenOver.length,
      staleEffects: effectsOnLostLeases(findings, leases, done),
    }
    return { findings, hits: [at, ...users.codes, ...bystanders.codes], counts, most: { slowestMs } }
  })
}

/** The moments, with how many of them a server has; without a point it is frozen from outside. */
const POINTS = [undefined, { in: 'tool', most: 3 }, { in: 'step', most: 12 }, { in: 'statement', most: 60 }] as const

function pointOf(seed: number, random: Random): FreezePoint | undefined {
  const point = POINTS[seed % POINTS.length]
  return point && { in: point.in, number: 1 + random.below(point.most) }
}

/** Waits until the server has frozen itself, or freezes it. Contract: gives where. */
async function freeze(frozen: ReplicaProcess, point: FreezePoint | undefined, random: Random): Promise<string> {
  if (point) {
    if (await frozen.freezes(4_000)) return point.in === 'tool' ? 'in a tool' : `after a ${point.in}`
  } else await pause(50 + random.below(600))
  frozen.signal('SIGSTOP')
  return 'at any moment'
}
