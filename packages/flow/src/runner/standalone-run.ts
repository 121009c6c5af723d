import { type AgentEvent, type JsonObject, type RunContext, type RunInput, type Sink, stream } from '@troupe/kernel'
import type { RunHost } from '@troupe/kernel/run'
import { withFlowContext } from '../flow-context.ts'
import { ThreadLog } from '../thread-log.ts'
import { runFlow } from '../tree/run-flow.ts'
import { checkStandaloneInput } from './check-input.ts'
import { RunLength } from './run-length.ts'
import type { RunnerParts } from './runner-parts.ts'

/** Hosts a run without a thread, which is not stored and whose questions cannot be answered. */
export function standaloneRun({ flow, limits: { transfers, runChars } }: RunnerParts, input: RunInput): RunHost {
  checkStandaloneInput(input)
  const runAgents = async (ctx: RunContext, sink: Sink<AgentEvent>) => {
    const own = withFlowContext(ctx, new ThreadLog(input.messages), transfers)
    const { suspended: { interrupts } = { interrupts: [] } } = await runFlow(flow, input, own, sink)
    if (interrupts.length === 0) return
    const { runId, agentName, runPath } = ctx
    await sink.write({ type: 'action', runId, agentName, runPath, action: { type: 'interrupt', interrupts } })
  }
  return {
    around(ctx, run) {
      run.begin(input)
      const length = new RunLength(ctx.runId, runChars)
      return stream((sink) => run.settle(runAgents(ctx, length.limited(sink))))
    },
  }
}

/** The state that a run without a thread begins with. */
export function standaloneState({ set = {}, removed = [] }: NonNullable<RunInput['state']>): JsonObject {
  return removed.length === 0 ? set : Object.fromEntries(Object.entries(set).filter(([key]) => !removed.includes(key)))
}
