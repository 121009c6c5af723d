import type { Owner, RunContext, ThreadRef } from '@troupe/kernel'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import type { ClientView } from '../translate/client-view.ts'
import type { ExecutionState } from './execution-state.ts'
import type { Executions } from './executions.ts'

/** The request that starts or continues a run. */
export interface Caller {
  readonly requestId: string
  /** Adds what is known of the caller to the context of the run. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/** The options of a single run. */
export interface AgUiRunOptions {
  /** Aborting cancels the run. */
  readonly signal?: AbortSignal
  /** The owner, if the caller knows it; otherwise it is taken from the agent's options. */
  readonly owner?: Owner
  /** Sent with an error, so that the operator can find it. */
  readonly requestId?: string
  /** Adds the caller's values to the context of the run: `(ctx) => ctx.with(LOCALE, 'zh')`. */
  readonly prepare?: (ctx: RunContext) => RunContext
  /** The entry of the run in the table of a server, which ends it. @default a new one */
  readonly execution?: ExecutionState
}

/** The options of a run that is continued. */
export interface AgUiContinueOptions extends Omit<AgUiRunOptions, 'owner'> {
  /** The run that is meant. @default the run of the thread */
  readonly runId?: string
  /** Gives the events that readers have seen, which are not yielded again. Contract: called once, when the run has its thread; if it rejects, the run is stopped. @default there are none */
  readonly seen?: () => Promise<readonly AgUiEvent[]>
}

/** The agent that a server needs: `AgUiAgent`, or any object of this shape. */
export interface ServedAgent {
  /** Contract: checks its input itself; first RUN_STARTED or RUN_ERROR, and exactly one terminal; aborting the signal cancels the run. */
  run(input: RunAgentInput, options?: AgUiRunOptions): AsyncIterable<AgUiEvent>
  /** Contract: works from any process; false if nothing runs there, or only a run with another id. */
  cancel(ref: ThreadRef, runId?: string): Promise<boolean>
  /** Goes on with a run whose process is gone. Contract: a single RUN_ERROR, before `seen` is called, if that is not possible; otherwise what readers have not seen, and exactly one terminal. @default such runs are left alone */
  continue?(ref: ThreadRef, options?: AgUiContinueOptions): AsyncIterable<AgUiEvent>
  /** How far a run has come that workers carry out, as `Runner.progress`. @default there are no such runs */
  progress?(ref: ThreadRef, runId: string): Promise<number | undefined>
  /** State that clients do not see. @default none but `temp:` keys */
  hidden?(key: string): boolean
  /** How the client of a request sees its thread; on routes without a request it has only the id of the thread. @default everything, under the names that the model sees */
  view?(input: RunAgentInput): ClientView
  /** How a thread ends. @default it is deleted from the store unless a run holds it */
  readonly sessions?: { deleteSession(ref: ThreadRef): Promise<boolean> }
  /** The runs of this process. Contract: the agent enters `execution` of a run when it has validated it. @default a table of the server */
  readonly executions?: Executions
}
