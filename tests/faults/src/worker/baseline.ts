import type { Databases } from '../store/databases.ts'
import type { StoreKind } from '../store/open-store.ts'
import { WorkerProcess } from './worker-process.ts'
import { REF } from './worker-task.ts'

/** How much a worker does when no fault occurs. */
export interface Baseline {
  readonly calls: number
  readonly statements: number
  readonly events: number
}

/** Lets a worker run to its end, to know how many calls and statements a fault can hit. */
export function measureBaseline(databases: Databases, kind: StoreKind): Promise<Baseline> {
  return databases.withStorage(kind, 'baseline', async ({ address, effects }) => {
    await using worker = new WorkerProcess({ address, ref: REF, effects, name: 'baseline', seed: 0 }, databases.cache)
    const events = await worker.waitForEnd()
    const last = events.at(-1)
    if (last?.type !== 'done') throw new Error('faults: a worker without a fault did not finish')
    return { calls: last.calls, statements: last.statements, events: events.length }
  })
}
