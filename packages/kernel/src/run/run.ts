import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { CancelMode, CancelRequest, Clock, RunContext } from '../context/context.ts'
import type { Answers } from '../data/action.ts'
import type { KernelError } from '../data/error.ts'
import type { AgentEvent, RunResult } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'
import type { ThreadRef } from '../store/store.ts'
import type { PipeStream } from '../stream/stream.ts'
import type { Callback } from './callback.ts'

/** A run under way: `for await` for its events, `await` for its result, or both. Contract: iterable once; awaiting alone drains it; leaving the loop aborts it; awaiting rejects when it `failed` or was `cancelled`; iterating throws only if the run never began (`THREAD_BUSY`). */
export interface Run<Output = unknown> extends AsyncIterable<AgentEvent>, PromiseLike<RunResult<Output>> {
  readonly runId: string
}

/** Runs agents in conversations; what a server needs of `flow`. */
export interface Runner<Output = unknown> {
  readonly agent: Agent<Output>
  /** Contract: user messages start a turn, tool messages answer open calls, in that agent that asked; `THREAD_BUSY` if the thread is taken. */
  run(input: RunInput, options?: RunRequest): Run<Output>
  /** Contract: answers are validated first; an unknown, expired or foreign id changes nothing. */
  resume(
    answers: Answers,
    options: RunRequest & { readonly session: ThreadRef } & Pick<AgentInput, 'additions' | 'options'>,
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
  /** Where isolated failures (a callback that threw) go. */
  readonly report?: (error: KernelError) => void
}

/** What a Runner adds. */
export interface RunHost {
  /** Contract: before `run-start` and every span; throwing means the run never began. */
  open?(): Promise<{ readonly state?: JsonObject; close(): Promise<void> }>
  /** Contract: inside the run span; may load before `next` and commit before it passes an event on or ends. */
  around?(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent>
  /** Asked between steps. */
  cancelling?(): CancelMode | undefined
}

/** Runs an agent: `run-start`, its events, exactly one `run-end`. */
export declare function startRun<Output>(
  agent: Agent<Output>,
  start: AgentInput | ResumeInfo,
  options?: RunSettings & RunHost,
): Run<Output>
/** Makes a context for standalone use: a tool or handler under test, an agent called by hand. */
export declare function createRunContext(settings?: RunSettings): RunContext
/** One agent run with its span, stamps, `agent-start` and one `agent-end`. Contract: what the agent throws becomes one `error` event. */
export declare function observe(agent: Agent, start: AgentInput | ResumeInfo, ctx: RunContext): PipeStream<AgentEvent>
/** Runs an agent inside a tool call. Contract: own run id and history, shared state; forwards events, counts depth, links abort; rejects when the run failed; an interrupt ends the outer call and `resume`s the inner agent when that call runs again. */
export declare function runNested<Output>(
  agent: Agent<Output>,
  input: AgentInput,
  ctx: RunContext,
  options?: { /** @default true */ readonly forward?: boolean; readonly onEvent?: (event: AgentEvent) => void },
): Promise<RunResult<Output>>
