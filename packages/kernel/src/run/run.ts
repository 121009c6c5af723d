import type { Agent, AgentInput } from '../agent/agent.ts'
import type { Journal } from '../agent/journal.ts'
import type { StartInput } from '../agent/start-input.ts'
import type { Callback } from '../callback/callback.ts'
import type { Clock } from '../context/clock.ts'
import type { RunContext } from '../context/context.ts'
import type { Answers } from '../data/action.ts'
import type { CancelRequest } from '../data/cancel.ts'
import type { AgentEvent, RunResult } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import type { KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import type { ForkPoint, LostRun } from '../store/store.ts'

/**
 * A run: use `for await` for its events, `await` for its result, or both.
 * Contract: iterable once; awaiting alone drains it. A run that `failed` or was `cancelled` throws its error: iterating does so after the last event, awaiting at once. Leaving the loop aborts the run and throws nothing.
 */
export interface Run<Output = unknown>
  extends AsyncIterable<AgentEvent>,
    Pick<Promise<RunResult<Output>>, 'then' | 'catch' | 'finally'> {
  readonly runId: string
  /** The events alone, for consumers that read the outcome from `run-end`. Contract: never throws the run's error; a run that never began (`THREAD_BUSY`) has no events, and awaiting it throws the reason. */
  eventsWithoutThrowing(): AsyncIterable<AgentEvent>
}

/** Runs agents in conversations; the part of `flow` that a server needs. */
export interface Runner<Output = unknown> {
  readonly agent: Agent<Output>
  /** Contract: user messages start a run, tool messages answer open calls of the agent that made them; `THREAD_BUSY` if the thread is taken. */
  run(input: StartInput<RunInput>, options?: RunRequest): Run<Output>
  /** Contract: answers are validated first; an unknown, expired or foreign id changes nothing; `processed` is stored when the answers are taken. User `messages` follow the results of the calls that run again. */
  resume(
    answers: Answers,
    options: RunRequest & { readonly session: ThreadRef } & Partial<RunInput> & ClosedQuestions,
  ): Run<Output>
  /** Goes on with the run of a thread whose process is gone. Contract: works in any process; steps that were done are not done again; `NOT_FOUND` if there is no such run, `THREAD_BUSY` if it is still under way. */
  continue?(session: ThreadRef, request?: ContinueRequest): Run<Output>
  /** Lists runs whose process is gone, of all owners, those first that stopped first. */
  lost?(query?: LostQuery): Promise<readonly LostRun[]>
  /** How far a run has come that workers carry out, whatever becomes of the process that began it: a number that grows with what it shows. Contract: undefined for any other run; `continue` shows such a run in this process too, from its first event with `again`, also while it is under way; an abort with the reason `LEASE_LOST` leaves it to other processes and stops nothing. */
  progress?(session: ThreadRef, runId: string): Promise<number | undefined>
  /** Makes a branch of a thread: its messages up to one of them, and the state as it was there. Contract: the thread need not be free, and stays as it is; `NOT_FOUND` for an unknown thread or message, `THREAD_ID_TAKEN` if `to` exists. */
  fork?(session: ThreadRef, request: ForkRequest): Promise<ThreadRef>
  /** Contract: works from any process; false if nothing runs there. */
  cancel(session: ThreadRef, request?: CancelRequest): Promise<boolean>
}

/** Questions that nobody will answer. */
export type ClosedQuestions = {
  /** Ids of open questions. Contract: their answer is `null`, which refuses an approval, also after they have expired and whatever their schema. */
  readonly closed?: readonly string[]
}

/** Where a thread branches, and the id of the new thread. */
export type ForkRequest = ForkPoint & {
  /** @default a new id */
  readonly to?: string
}

/** How a run is continued. */
export interface ContinueRequest extends Pick<RunRequest, 'signal' | 'timeoutMs'> {
  /** The run that is meant; another one is `NOT_FOUND`. @default the run of the thread */
  readonly runId?: string
  /** Whether to wait until the lease of the process that is gone has expired. @default 'reject' */
  readonly busy?: 'reject' | 'queue'
  /** Gives back what cannot be stored, from what the run has carried: values of its context, and tools that the caller added. */
  readonly restore?: (carried: Json | undefined) => Restored
  /** The events that readers have seen: they are not shown again, and an answer that broke off is taken back as after a retry. Contract: read when the run has its thread. A caller that keeps them in another form says what readers have seen of the answers of a context. @default those of the steps that were done */
  readonly shown?: Iterable<AgentEvent> | NonNullable<Journal['shown']>
  /** Shows everything again, for a reader that begins anew. @default false */
  readonly again?: boolean
}

/** What a caller gives back to a run that is continued. */
export type Restored = Pick<RunRequest, 'prepare'> & Pick<AgentInput, 'additions'>

/** Which lost runs are listed. */
export type LostQuery = {
  /** Runs that have done nothing since; milliseconds since the epoch. @default now */
  readonly before?: number
  /** @default 100 */
  readonly limit?: number
}

/** The input of a Runner; committed with the run or not at all. */
export interface RunInput extends AgentInput {
  readonly state?: { readonly set?: JsonObject; readonly removed?: readonly string[] }
  /** Foreign message ids that this run has processed. */
  readonly processed?: readonly string[]
}

/** What a single run is asked to do: its thread, its id and how it may be stopped. */
export interface RunRequest {
  readonly session?: ThreadRef
  readonly runId?: string
  readonly signal?: AbortSignal
  /** The time limit of the run, after which it fails with `TIMEOUT`; waiting for a busy thread does not count. @default the Runner's setting, or no limit */
  readonly timeoutMs?: number
  /** Whether a user message is rejected while questions or calls are open, or drops them. @default the Runner's setting */
  readonly pending?: 'reject' | 'drop'
  /** Adds the caller's values to the run's context: `(ctx) => ctx.with(LOCALE, 'zh')`. */
  readonly prepare?: (ctx: RunContext) => RunContext
  /** JSON that is kept until the run has ended, for whoever continues it: `restore` gets it. */
  readonly carry?: Json
}

/** Settings of a run. */
export interface RunSettings extends RunRequest {
  readonly callbacks?: readonly Callback[]
  readonly clock?: Clock
  readonly state?: JsonObject
  /** @default false */
  readonly canInterrupt?: boolean
  /** Receives isolated failures, such as a callback that threw. @default console.error */
  readonly report?: (error: KernelError) => void
}
