import { compaction, offload, promptCache, toolSearch } from '@troupe/context'
import type { AgentHandler, ChatModel } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import type { Workload } from '../measure.ts'
import { TURNS, toolTurns } from '../tool-turns.ts'

/** What the handlers of `@troupe/context` cost when they have nothing to do; the hand-written side is the same run without them. */
export function contextWorkloads(): readonly Workload[] {
  const store = memoryStore()
  const model: ChatModel = {
    name: 'bench:summaries',
    stream() {
      throw new Error('bench: nothing is to be summarised')
    },
  }
  const handlers: { readonly [name: string]: AgentHandler } = {
    'compaction()': compaction({ model, store }),
    'toolSearch()': toolSearch(),
    'offload()': offload({ store }),
    'promptCache()': promptCache(),
  }
  const handWritten = toolTurns()
  const workload = (name: string, list: readonly AgentHandler[]): Workload => ({
    name: `a turn with ${name}, idle`,
    unit: 'turn',
    units: TURNS,
    handWritten,
    troupe: toolTurns(list),
  })
  return [
    ...Object.entries(handlers).map(([name, handler]) => workload(name, [handler])),
    workload('all four of them', Object.values(handlers)),
  ]
}
