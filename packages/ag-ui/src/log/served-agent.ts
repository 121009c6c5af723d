import type { Owner, ThreadRef } from '@troupe/kernel'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'

/** The agent that a server needs: `AgUiAgent`, or any object of this shape. */
export interface ServedAgent {
  /** Contract: checks its input itself; first RUN_STARTED or RUN_ERROR, and exactly one terminal; aborting the signal cancels the run. */
  run(input: RunAgentInput, options?: ServedRunOptions): AsyncIterable<AgUiEvent>
  /** Contract: works from any process; false if nothing runs there, or only a run with another id. */
  cancel(ref: ThreadRef, runId?: string): Promise<boolean>
  /** State that clients do not see. @default none but `temp:` keys */
  hidden?(key: string): boolean
  /** How a thread ends. @default it is deleted from the store unless a run holds it */
  readonly sessions?: { deleteSession(ref: ThreadRef): Promise<boolean> }
}

/** The options of a served run. */
export interface ServedRunOptions {
  readonly signal?: AbortSignal
  readonly owner?: Owner
  readonly requestId?: string
}
