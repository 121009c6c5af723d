import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { countDeltas, expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'
import { wordModel } from '../word-model.ts'

const DELTAS = 5_000

/** The same turns of a thread without and with records, including the time until they are written. */
function onStore(name: string, store: Store): readonly Workload[] {
  const messages = messageLifecycle({ store, publish: () => undefined })
  const callbacks = [messages, toolLifecycle({ messages })]
  const runners = (deltas: number) => {
    const agent = chatModelAgent({ name: 'bench', model: wordModel(deltas) })
    return { without: runner({ agent, store }), with: runner({ agent, store, callbacks }) }
  }
  const [long, short] = [runners(DELTAS), runners(1)]
  let thread = 0
  const fresh = () => ({ app: 'bench', user: 'bench', threadId: `${thread++}` })
  const recorded = async (work: (session: ReturnType<typeof fresh>) => Promise<unknown>) => {
    const session = fresh()
    await work(session)
    await messages.flush(session)
  }
  return [
    {
      name: `records of a streamed delta of 5,000, ${name}`,
      unit: 'delta',
      units: DELTAS,
      handWritten: () => countDeltas(DELTAS, long.without.query('Go.', { session: fresh() })),
      troupe: () => recorded((session) => countDeltas(DELTAS, long.with.query('Go.', { session }))),
    },
    {
      name: `records of one short turn, ${name}`,
      unit: 'turn',
      units: 1,
      handWritten: () => expectText(5, short.without.query('Go.', { session: fresh() })),
      troupe: () => recorded((session) => expectText(5, short.with.query('Go.', { session }))),
    },
  ]
}

/** Workloads of runs with records, beside the same runs without them. */
export function persistenceWorkloads(): { readonly workloads: readonly Workload[]; close(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const sqlite = sqliteStore({ path: join(folder, 'bench.db') })
  return {
    workloads: [...onStore('in SQLite', sqlite), ...onStore('in memory', memoryStore())],
    async close() {
      await sqlite[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}
