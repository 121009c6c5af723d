import { type JsonObject, type RunInput, stream } from '@troupe/kernel'
import type { RunHost } from '@troupe/kernel/run'
import { FLOW_CONTEXT } from '../flow-context.ts'
import { ThreadLog } from '../thread-log.ts'
import { runFlow } from '../tree/run-flow.ts'
import { checkStandaloneInput } from './check-input.ts'
import type { RunnerParts } from './runner-parts.ts'

/** Hosts a run without a thread, which is not stored and whose questions cannot be answered. */
export function standaloneRun({ flow, limits: { transfers } }: RunnerParts, input: RunInput): RunHost {
  checkStandaloneInput(input)
  return {
    around: (ctx, next) =>
      next(
        input,
        stream(async (sink) => {
          const { runId, agentName, runPath } = ctx
          const log = new ThreadLog(input.messages)
          const own = ctx.with(FLOW_CONTEXT, { runId, log, limit: transfers, budget: { left: transfers } })
          const { suspended: { interrupts } = { interrupts: [] } } = await runFlow(flow, input, own, sink)
          if (interrupts.length === 0) return
          await sink.write({ type: 'action', runId, agentName, runPath, action: { type: 'interrupt', interrupts } })
        }),
      ),
  }
}

/** The state that a run without a thread begins with. */
export function standaloneState({ set = {}, removed = [] }: NonNullable<RunInput['state']>): JsonObject {
  return removed.length === 0 ? set : Object.fromEntries(Object.entries(set).filter(([key]) => !removed.includes(key)))
}
