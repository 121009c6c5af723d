import { EventType, omitOptionalNulls, type RunErrorEvent } from '@ag-ui/core'
import { type Clock, type JsonObject, KernelError, type Owner, type Store } from '@troupe/kernel'
import { upgradeMessage } from '../input/upgrade-message.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import { publicError, runError } from '../translate/run-error.ts'
import { SharedState } from '../translate/shared-state.ts'
import { endWithLog } from './end-with-log.ts'
import { ExecutionState } from './execution-state.ts'
import type { Executions } from './executions.ts'
import { RunLog } from './run-log.ts'
import { RunReaders } from './run-readers.ts'
import type { Caller, ServedAgent } from './served-agent.ts'

/** The parts of a server that its runs need. */
export interface RunServer {
  readonly agent: ServedAgent
  readonly executions: Executions
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly clock: Clock
  /** How long a run may go on without anyone who follows it. */
  readonly detachedMs: number
  readonly report: (error: KernelError, about: { readonly requestId?: string }) => void
}

const UNLOGGED = 'The run was not started because its events could not be stored.'

/** Starts a run that is logged. Contract: resolves when its first event is logged, or with the RUN_ERROR of a run that never began; never rejects. */
export async function startServedRun(
  server: RunServer,
  input: RunAgentInput,
  owner: Owner,
  { requestId, prepare }: Caller,
): Promise<ExecutionState | RunErrorEvent> {
  const { agent, executions, store, clock, detachedMs, report } = server
  // The input is not validated yet; the agent does that before its run begins.
  const { threadId = '', runId = '' } = (input ?? {}) as Partial<RunAgentInput>
  const ref = { ...owner, threadId }
  await executions.settled(ref, runId)
  const execution = new ExecutionState(ref, runId, clock.now())
  // An agent with a table of its own enters its runs when it has validated them.
  if (!agent.executions) executions.enter(execution)
  const log = new RunLog({
    run: execution,
    store: store.runLog,
    clock,
    beat: executions.beat,
    requestId,
    report: (error) => report(error, {}),
    open: () => store.threads.open(ref),
  })
  endWithLog(executions, execution, log, (error) => report(error, {}))
  const { signal } = execution
  const hidden = agent.hidden && ((key: string) => agent.hidden?.(key) === true)
  try {
    const run = () => agent.run(input, { signal, owner, requestId, execution, ...(prepare && { prepare }) })
    const refusal = await log.begin(run, (event) => withInput(event, input, hidden))
    if (refusal) {
      execution.end()
      return refusal
    }
  } catch (error) {
    // Another run with this id has a log.
    if (KernelError.is(error, 'VERSION_CONFLICT')) return runError(publicError({ code: 'RUN_ID_TAKEN' }), { requestId })
    const failed = new KernelError('RUN_LOG_FAILED', UNLOGGED, { cause: error })
    report(failed, {})
    return runError(failed, { requestId })
  }
  execution.log = log
  execution.readers = new RunReaders(clock, detachedMs, execution)
  return execution
}

/** Adds the input to RUN_STARTED for readers who join later: all of it but the messages of earlier runs. Contract: has every field, because the official Python types refuse an input without `state` or `forwardedProps`. */
function withInput(
  event: AgUiEvent,
  { messages, state, ...request }: RunAgentInput,
  hidden: ((key: string) => boolean) | undefined,
): AgUiEvent {
  if (event.type !== EventType.RUN_STARTED || event.input !== undefined) return event
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const added = messages.slice(last + 1).filter(({ role }) => role === 'user' || role === 'tool')
  // In the form of the current protocol, also if an older client sent it.
  const sent = omitOptionalNulls(
    { ...request, messages: added.map(upgradeMessage) },
    'RunAgentInput',
  ) as Partial<RunAgentInput>
  const shown = new SharedState((state ?? {}) as JsonObject, hidden).snapshot
  const input = { tools: [], context: [], forwardedProps: {}, ...sent, state: shown }
  return { ...event, input: input as unknown as RunAgentInput }
}
