import type { RunAgentInput } from '@ag-ui/core'
import type { Run, Runner, RunRequest, Thread, ThreadRef } from '@troupe/kernel'
import type { AgUiAgentParts } from './ag-ui-agent.ts'
import type { ExecutionState } from './execution-state.ts'
import { AG_UI_INPUT } from './request-key.ts'
import { type RunPlan, resultsCommit } from './run-plan.ts'
import { untimed } from './tool-limit.ts'

/** The parts that a run is started from. */
export interface RunStartParts {
  readonly input: RunAgentInput
  readonly plan: Exclude<RunPlan, { kind: 'nothing' }>
  readonly thread: Thread | undefined
  readonly runner: Runner
  readonly execution: ExecutionState
}

/** Prepares a planned run. Contract: each call of the returned function makes a new run that has not begun. */
export async function startPlanned(
  { sessions, options }: AgUiAgentParts,
  { input, plan, thread, runner, execution }: RunStartParts,
): Promise<() => Run> {
  const { ref, signal } = execution
  const config = await execution.within(Promise.resolve(options.runConfigFactory?.(input)))
  const settings = config && { options: config }
  const request: RunRequest & { readonly session: ThreadRef } = {
    session: ref,
    runId: input.runId,
    signal,
    prepare: (ctx) => ctx.with(AG_UI_INPUT, input),
    ...(options.pending && { pending: options.pending }),
  }
  if (!thread) await execution.within(sessions.makeRoom(ref))
  if (plan.kind === 'resume' && plan.results.length > 0) {
    await execution.within(sessions.change(ref, resultsCommit(plan.results)))
  }
  const additions = untimed(plan.kind === 'run' ? plan.input.additions : plan.additions, execution)
  if (plan.kind === 'run') return () => runner.run({ ...plan.input, additions, ...settings }, request)
  const { answers, processed, change } = plan
  const more = { additions, processed, ...(change && { state: change }) }
  return () => runner.resume(answers, { ...request, ...settings, ...more })
}
