import type { RunErrorEvent } from '@ag-ui/core'
import { KernelError, type ThreadRef } from '@troupe/kernel'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { publicError, runError } from '../translate/run-error.ts'
import { endWithLog } from './end-with-log.ts'
import { ExecutionState } from './execution-state.ts'
import { loggedEvents } from './logged-events.ts'
import { RunLog } from './run-log.ts'
import { RunReaders } from './run-readers.ts'
import type { Caller } from './served-agent.ts'
import type { RunServer } from './start-served-run.ts'

/**
 * Goes on with a run whose process is gone, in the same log.
 * Contract: resolves when the run has begun, here or by an earlier call, or with the RUN_ERROR of one that cannot be continued; never rejects.
 */
export async function continueServedRun(
  server: RunServer,
  ref: ThreadRef,
  runId: string,
  caller: Caller,
): Promise<ExecutionState | RunErrorEvent> {
  const { executions, clock, report } = server
  const { requestId } = caller
  const known = executions.find(ref, runId)
  if (known) return known
  const execution = new ExecutionState(ref, runId, clock.now())
  try {
    // Before anything is awaited, so that two followers do not continue the same run.
    executions.enter(execution)
    const refusal = await goOn(server, execution, caller)
    if (!refusal) return execution
    execution.end()
    return refusal
  } catch (cause) {
    execution.end()
    const error = KernelError.from(cause)
    const shown = publicError(error)
    if (shown.code === 'AGENT_ERROR') report(error, { requestId })
    return runError(shown, { requestId, retryable: error.retryable })
  }
}

async function goOn(
  server: RunServer,
  execution: ExecutionState,
  { requestId, prepare }: Caller,
): Promise<RunErrorEvent | undefined> {
  const { agent, executions, store, clock, detachedMs, report } = server
  const { ref, runId, signal } = execution
  const read = () => loggedEvents(store.runLog, ref, runId)
  let events = await read()
  const proceed = agent.continue?.bind(agent)
  if (!proceed || events.some(isTerminal)) return runError(publicError({ code: 'NOT_FOUND' }), { requestId })
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
  const seen = async (): Promise<readonly AgUiEvent[]> => {
    while (events.length > 0) {
      try {
        await log.goOn(events.length)
        break
      } catch (error) {
        // The other process was not gone after all, or a third one was faster: from now on only one of them has the lease.
        if (!KernelError.is(error, 'VERSION_CONFLICT')) throw error
        events = await read()
        if (events.some(isTerminal)) throw error
      }
    }
    const given = events
    // The run keeps what asks for them.
    events = []
    return given
  }
  const refusal = await log.begin(
    () => proceed(ref, { runId, signal, requestId, execution, seen, ...(prepare && { prepare }) }),
    (first) => first,
  )
  if (!refusal) {
    execution.log = log
    execution.readers = new RunReaders(clock, detachedMs, execution)
  }
  return refusal
}
