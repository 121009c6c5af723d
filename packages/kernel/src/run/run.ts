import type { Agent, AgentInput } from '../agent/agent.ts'
import type { StartInput } from '../agent/start-input.ts'
import type { Callback } from '../callback/callback.ts'
import type { Clock } from '../context/clock.ts'
import type { RunContext } from '../context/context.ts'
import type { Answers } from '../data/action.ts'
import type { CancelRequest } from '../data/cancel.ts'
import type { AgentEvent, RunResult } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'
import type { KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'

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
  /** Contract: answers are validated first; an unknown, expired or foreign id changes nothing; `processed` is stored when the answers are taken. */
  resume(
    answers: Answers,
    options: RunRequest & { readonly session: ThreadRef } & Omit<RunInput, 'messages'>,
  ): Run<Output>
  /** Contract: works from any process; false if nothing runs there. */
  cancel(session: ThreadRef, request?: CancelRequest): Promise<boolean>
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
