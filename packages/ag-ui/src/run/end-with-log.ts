import { KernelError } from '@troupe/kernel'
import { threadKey } from '../session/thread-key.ts'
import type { ExecutionState } from './execution-state.ts'
import type { Executions } from './executions.ts'
import type { RunLog } from './run-log.ts'

/** Ends a run with its log, then compacts the log in the background. */
export function endWithLog(
  executions: Executions,
  execution: ExecutionState,
  log: RunLog,
  report: (error: KernelError) => void,
): void {
  const { ref, runId } = execution
  void log.ended.then(() => {
    const compacted = executions.once(threadKey(ref, runId, 'compact'), () => log.compact())
    // The log is right as it is, only longer.
    execution.end(compacted.catch((error: unknown) => report(KernelError.from(error))))
  })
}
