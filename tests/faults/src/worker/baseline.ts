import type { Databases } from '../store/databases.ts'
import type { StoreKind } from '../store/open-store.ts'
import { Child } from './worker-process.ts'
import { REF } from './worker-task.ts'

/** How much a worker does when nobody hits it. */
export interface Measure {
  readonly calls: number
  readonly statements: number
  readonly lines: number
}

/** Lets a worker come to its end, to know what there is to hit. */
export function measure(databases: Databases, kind: StoreKind): Promise<Measure> {
  return databases.within(kind, 'measure', async ({ place, effects }) => {
    await using child = new Child({ place, ref: REF, effects, name: 'whole', seed: 0 }, databases.cache)
    const lines = await child.ended()
    const last = lines.at(-1)
    if (last?.type !== 'done') throw new Error('faults: a worker that nobody hits comes to its end')
    return { calls: last.calls, statements: last.statements, lines: lines.length }
  })
}
