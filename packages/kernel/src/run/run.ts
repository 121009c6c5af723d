import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { StartInput } from '../agent/start-input.ts'
import type { Clock } from '../context/clock.ts'
import type { CancelMode, CancelRequest, RunContext } from '../context/context.ts'
import type { Answers } from '../data/action.ts'
import type { KernelError } from '../data/error.ts'
import type { AgentEvent, RunResult } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'
import type { ThreadRef } from '../store/store.ts'
import type { Callback } from './callback.ts'

/**
 * A run under way: `for await` for its events, `await` for its result, or both.
 * Contract: iterable once; awaiting alone drains it. A run that `failed` or was `cancelled` throws its error: iterating does so after the last event, awaiting at once. Leaving the loop aborts the run and throws nothing.
 */
export interface Run<Output = unknown>
  extends AsyncIterable<AgentEvent>,
    Pick<Promise<RunResult<Output>>, 'then' | 'catch' | 'finally'> {
  readonly runId: string
  /** The events alone, for those who read the outcome off `run-end`. Contract: never throws the run's error; a run that never began (`THREAD_BUSY`) has no events, and awaiting it says why. */
  eventsWithoutThrowing(): AsyncIterable<AgentEvent>
}

/** Runs agents in conversations; what a server needs of `flow`. */
export interface Runner<Output = unknown> {
  readonly agent: Agent<Output>
  /** Contract: user messages start a turn, tool messages answer open calls, in that agent that asked; `THREAD_BUSY` if the thread is taken. */
  run(input: StartInput<RunInput>, options?: RunRequest): Run<Output>
  /** Contract: answers are validated first; an unknown, expired or foreign id changes nothing; `processed` is stored when the answers are taken. */
  resume(
    answers: Answers,
    options: RunRequest & { readonly session: ThreadRef } & Omit<RunInput, 'messages'>,
  ): Run<Output>
  /** Contract: works from any process; false if nothing runs there. */
  cancel(session: ThreadRef, request?: CancelRequest): Promise<boolean>
}

/** What a Runner takes beyond an agent's input; committed with the turn or not at all. */
export interface RunInput extends AgentInput {
  readonly state?: { readonly set?: JsonObject; readonly removed?: readonly string[] }
  /** Foreign message ids that are done with this run. */
  readonly processed?: readonly string[]
}

/** Which thread, under which id, until when. */
export interface RunRequest {
  readonly session?: ThreadRef
  readonly runId?: string
  readonly signal?: AbortSignal
  /** What a user message does to questions and calls that are open: nothing but an error, or it drops them. @default what the Runner does */
  readonly pending?: 'reject' | 'drop'
  /** Puts the caller's values into the run: `(ctx) => ctx.with(LOCALE, 'zh')`. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/** How a run is started. */
export interface RunSettings extends RunRequest {
  readonly callbacks?: readonly Callback[]
  readonly clock?: Clock
  readonly state?: JsonObject
  /** @default false */
  readonly canInterrupt?: boolean
  /** How long the run may take before it fails with `TIMEOUT`. @default for ever */
  readonly timeoutMs?: number
  /** Where isolated failures (a callback that threw) go. @default console.error */
  readonly report?: (error: KernelError) => void
}

/** What a host has of its run. */
export interface RunControl {
  /** Contract: made on first use; aborts with the run, and when nobody waits for it any more. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  abort(reason: unknown): void
}

/** What a Runner adds. */
export interface RunHost {
  /** Contract: before `run-start` and every span; throwing means the run never began. */
  open?(run: RunControl): Promise<{ readonly state?: JsonObject; close(): Promise<void> }>
  /** Contract: inside the run span; may load before `next` and commit before it passes an event on or ends. */
  around?(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent>
  /** Asked between steps. */
  cancelling?(): CancelMode | undefined
}
