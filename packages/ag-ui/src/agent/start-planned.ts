import type { RunAgentInput } from '@ag-ui/core'
import type { Run, Runner, RunRequest, Thread, ThreadRef } from '@troupe/kernel'
import { untilAborted } from '@troupe/kernel/kit'
import { carriedInput } from '../lost/carried-input.ts'
import type { AgUiRunOptions } from '../run/served-agent.ts'
import { AG_UI_INPUT } from './ag-ui-input.ts'
import type { AgentSettings } from './agent-settings.ts'
import { withGiven } from './given-messages.ts'
import { type RunPlan, resultsCommit } from './run-plan.ts'
import type { ToolLimit } from './tool-limit.ts'

interface Planned {
  readonly input: RunAgentInput
  readonly ref: ThreadRef
  readonly plan: Exclude<RunPlan, { kind: 'nothing' }>
  readonly thread: Thread | undefined
  readonly runner: Runner
  readonly signal: AbortSignal
  readonly limit: ToolLimit
  readonly prepare: AgUiRunOptions['prepare']
}

/** Prepares a planned run. Contract: each call of the returned function makes a new run that has not begun. */
export async function startPlanned(
  { sessions, runConfigFactory, pending, executionTimeoutMs }: AgentSettings,
  { input, ref, plan, thread, runner, signal, limit, prepare = (ctx) => ctx }: Planned,
): Promise<() => Run> {
  const config = await untilAborted(signal, Promise.resolve(runConfigFactory?.(input)))
  const settings = config && { options: config }
  const request: RunRequest & { readonly session: ThreadRef } = {
    session: ref,
    runId: input.runId,
    signal,
    prepare: (ctx) => prepare(ctx.with(AG_UI_INPUT, input)),
    carry: withGiven(carriedInput(input), plan, thread),
    ...(executionTimeoutMs !== undefined && { timeoutMs: Math.min(executionTimeoutMs, Number.MAX_SAFE_INTEGER) }),
    ...(pending && { pending }),
  }
  if (!thread) await untilAborted(signal, sessions.makeRoom(ref))
  if (plan.kind === 'resume' && plan.results.length > 0) {
    await untilAborted(signal, sessions.change(ref, resultsCommit(plan.results)))
  }
  const additions = limit.untimed(plan.kind === 'run' ? plan.input.additions : plan.additions)
  if (plan.kind === 'run') return () => runner.run({ ...plan.input, additions, ...settings }, request)
  const { given, users: messages, processed, change } = plan
  const { answers, closed } = given
  const more = {
    messages,
    additions,
    processed,
    ...(change && { state: change }),
    ...(closed.length > 0 && { closed }),
  }
  return () => runner.resume(answers, { ...request, ...settings, ...more })
}
