import { setTimeout as wait } from 'node:timers/promises'
import { faultsOf, repeated } from './check-run.ts'
import type { Cluster } from './cluster.ts'
import { talk } from './talk.ts'
import type { WorkerProcess } from './worker-process.ts'

/** What became of the runs of a chaos. */
export interface ChaosResult {
  readonly runs: number
  readonly complete: number
  /** How often each kind of blow fell. */
  readonly blows: Readonly<Record<Blow, number>>
  readonly faults: readonly string[]
  /** Calls that must happen once at most and began more often. */
  readonly repeated: readonly string[]
  readonly seconds: number
}

/** What happens to a cluster: a worker dies and another one takes its place, one is frozen and thaws when its runs have gone on elsewhere, or the server of the engine dies and comes back. */
export type Blow = 'kill' | 'freeze' | 'server'

/** How a chaos goes. */
export interface ChaosOptions {
  readonly runs: number
  readonly atOnce: number
  /** How often a blow falls. */
  readonly everyMs: number
  /** The blows, in turn, again and again. */
  readonly blows: readonly Blow[]
}

/** Longer than the engine waits for a frozen worker. */
const FROZEN_MS = 6_000

/** Carries out many runs of 17 steps while workers die or freeze and the server breaks down. */
export async function chaos(cluster: Cluster, { runs, atOnce, everyMs, blows }: ChaosOptions): Promise<ChaosResult> {
  const began = performance.now()
  const done = new AbortController()
  const faults: string[] = []
  const fell = { kill: 0, freeze: 0, server: 0 }
  let [complete, left] = [0, runs]
  const chat = cluster.runner()
  const one = async () => {
    while (left-- > 0) {
      const run = talk(chat, { turns: 8, calls: left % 3 === 0 ? ['look'] : ['send'], wordMs: 2, callMs: 5 })
      const end = await run.ended.catch((error: unknown) => void faults.push(String(error)))
      if (end?.type === 'run-end' && end.outcome === 'complete') complete++
      else faults.push(`${run.runId}: ${JSON.stringify(end)}`)
      for (const fault of await faultsOf(cluster.store, run.ref, run.runId, run.events))
        faults.push(`${run.runId}: ${fault}`)
    }
  }
  const mending = new Set<Promise<unknown>>()
  const frozen = new Set<WorkerProcess>()
  const strike = {
    async kill(victim: WorkerProcess) {
      cluster.removeWorker(victim)
      await victim.kill()
      mending.add(cluster.addWorker())
    },
    async freeze(victim: WorkerProcess) {
      frozen.add(victim)
      victim.signal('SIGSTOP')
      const thaw = async () => {
        await wait(FROZEN_MS)
        victim.signal('SIGCONT')
        frozen.delete(victim)
      }
      mending.add(thaw())
    },
    async server() {
      await cluster.restate.kill()
      await cluster.restate.start()
    },
  }
  const striking = (async () => {
    for (let turn = 0; !done.signal.aborted; turn++) {
      await wait(everyMs)
      const blow = blows[turn % blows.length] as Blow
      const [victim, ...others] = cluster.workers.filter((worker) => !frozen.has(worker))
      // Somebody has to be there who lives long enough to get further.
      if (!victim || others.length < 2 || done.signal.aborted) continue
      await strike[blow](victim)
      fell[blow]++
    }
  })()
  await Promise.all(Array.from({ length: atOnce }, one))
  done.abort()
  await striking
  await Promise.all(mending)
  const seconds = Math.round((performance.now() - began) / 100) / 10
  return { runs, complete, blows: fell, faults, repeated: repeated(cluster.effects), seconds }
}
