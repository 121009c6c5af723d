import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { acknowledgedIn, type CaseEvent } from '../conversation/case-event.ts'
import { Effects } from '../conversation/effects.ts'
import { type Random, seeded } from '../random.ts'
import type { CaseStorage, Databases } from '../store/databases.ts'
import type { StoreKind } from '../store/open-store.ts'
import type { Baseline } from '../worker/baseline.ts'
import { WorkerProcess } from '../worker/worker-process.ts'
import { REF, type SignalPoint, type WorkerTask } from '../worker/worker-task.ts'
import { recover } from './recover.ts'

/** Kills a worker, in one case of five a second one after it, and checks what is left. */
export function killCase(databases: Databases, kind: StoreKind, seed: number, baseline: Baseline): Promise<CaseResult> {
  const findings = new Findings()
  return databases.withStorage(kind, `kill-${seed}`, async (storage) => {
    const random = seeded(seed)
    const events: CaseEvent[] = []
    const hits: string[] = []
    const kills = random.chance(0.2) ? 2 : 1
    while (hits.length < kills) {
      const task = { address: storage.address, ref: REF, effects: storage.effects, seed }
      const named = { ...task, name: `w${hits.length + 1}.${events.length}` }
      // A worker that finishes before it is killed is followed by another one.
      const killed = await killOne(databases, storage, named, random, baseline)
      events.push(...killed.events)
      if (killed.hit !== undefined) hits.push(killed.hit)
    }
    const effects = new Effects(storage.effects)
    const after = await recover({ address: storage.address, ref: REF, effects, events, random, findings })
    const acknowledged = acknowledgedIn(events).length
    return { findings, hits, counts: { kills: hits.length, acknowledged, ...after } }
  })
}

interface Killed {
  readonly events: readonly CaseEvent[]
  /** Where the kill came, or undefined if the worker finished before. */
  readonly hit: string | undefined
}

/** The ways to kill a worker: by itself at a call of the store or at a statement, or by this process. */
const WAYS = ['call', 'statement', 'outside'] as const
const MOMENTS: readonly SignalPoint['moment'][] = ['before', 'sent', 'after']
const SYNCHRONOUS: readonly SignalPoint['moment'][] = ['before', 'after']

async function killOne(
  { cache }: Databases,
  { address }: CaseStorage,
  task: WorkerTask,
  random: Random,
  baseline: Baseline,
): Promise<Killed> {
  const way = WAYS[task.seed % WAYS.length]
  if (way === 'outside') return killFromOutside(task, cache, random, baseline)
  const by = way === 'call' ? 'call' : 'statement'
  const moment = random.pick(by === 'statement' && address.kind === 'postgres' ? MOMENTS : SYNCHRONOUS)
  const number = 1 + random.below(by === 'call' ? baseline.calls : baseline.statements)
  await using worker = new WorkerProcess({ ...task, signalAt: { by, number, moment, signal: 'SIGKILL' } }, cache)
  const events = await worker.waitForEnd()
  const hit = events.findLast((event) => event.type === 'hit')
  return { events, hit: worker.killed && hit ? `${by} ${hit.at}` : undefined }
}

async function killFromOutside(task: WorkerTask, cache: string, random: Random, baseline: Baseline): Promise<Killed> {
  await using worker = new WorkerProcess(task, cache)
  const count = random.below(baseline.events)
  await worker.waitFor(({ length }) => length >= count)
  await new Promise<void>((resolve) => void setTimeout(resolve, random.below(15)))
  worker.signal('SIGKILL')
  const events = await worker.waitForEnd()
  const last = events.findLast(({ type }) => type !== 'hit')
  return { events, hit: worker.killed ? `outside, after ${last?.type ?? 'nothing'}` : undefined }
}
