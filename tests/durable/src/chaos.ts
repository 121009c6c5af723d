import { setTimeout as wait } from 'node:timers/promises'
import { faultsOf, repeated } from './check-run.ts'
import type { Cluster } from './cluster.ts'
import { talk } from './talk.ts'

/** What became of the runs of a chaos. */
export interface ChaosResult {
  readonly runs: number
  readonly complete: number
  readonly kills: number
  readonly faults: readonly string[]
  /** Calls that must happen once at most and began more often. */
  readonly repeated: readonly string[]
  readonly seconds: number
}

/** How a chaos goes. */
export interface ChaosOptions {
  readonly runs: number
  readonly atOnce: number
  /** How often a worker is killed. */
  readonly everyMs: number
}

/** Carries out many runs of 17 steps while workers are killed and others take their place. */
export async function chaos(cluster: Cluster, { runs, atOnce, everyMs }: ChaosOptions): Promise<ChaosResult> {
  const began = performance.now()
  const done = new AbortController()
  const faults: string[] = []
  let [complete, left, kills] = [0, runs, 0]
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
  const starting = new Set<Promise<unknown>>()
  const killing = (async () => {
    while (!done.signal.aborted) {
      await wait(everyMs)
      const [victim, ...others] = cluster.workers
      // Somebody has to be there who lives long enough to get further.
      if (!victim || others.length < 2 || done.signal.aborted) continue
      cluster.removeWorker(victim)
      await victim.kill()
      kills++
      starting.add(cluster.addWorker())
    }
  })()
  await Promise.all(Array.from({ length: atOnce }, one))
  done.abort()
  await killing
  await Promise.all(starting)
  const seconds = Math.round((performance.now() - began) / 100) / 10
  return { runs, complete, kills, faults, repeated: repeated(cluster.effects), seconds }
}
