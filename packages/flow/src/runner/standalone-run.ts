import type { RunContext, RunInput, RunRequest } from '@troupe/kernel'
import type { RunSettings } from '@troupe/kernel/run'
import { FLOW_CONTEXT, type FlowContext } from '../flow-context.ts'
import { ThreadLog } from '../thread-log.ts'
import { checkStandaloneInput } from './check-input.ts'
import type { RunnerParts } from './runner.ts'

/** Makes the settings of a run without a thread, which is not stored and cannot ask questions. */
export function standaloneRun(
  { flow, limits, callbacks, clock, report }: RunnerParts,
  input: RunInput,
  runId: string,
  { signal, prepare }: RunRequest,
): RunSettings {
  checkStandaloneInput(input)
  const { messages, state: stateChange } = input
  const flowContext: FlowContext = {
    runId,
    log: new ThreadLog(messages),
    limit: limits.transfers,
    budget: { left: limits.transfers },
    owner: flow,
    ephemeral: true,
  }
  const { set = {}, removed = [] } = stateChange ?? {}
  const state =
    removed.length === 0 ? set : Object.fromEntries(Object.entries(set).filter(([key]) => !removed.includes(key)))
  const settings: { -readonly [K in keyof RunSettings]: RunSettings[K] } = {
    runId,
    callbacks,
    clock,
    timeoutMs: limits.runMs,
    state,
    prepare: (ctx: RunContext) => {
      const ready = ctx.with(FLOW_CONTEXT, flowContext)
      return prepare ? prepare(ready) : ready
    },
  }
  if (signal) settings.signal = signal
  if (report) settings.report = report
  return settings
}
