import type { AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { RunContext } from '../context/context.ts'
import type { CancelMode } from '../data/cancel.ts'
import type { AgentEvent } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'

/** Hosts a run: takes its thread, loads and saves; a Runner has one for each run. */
export interface RunHost {
  /** How long `open` may take beyond the run's time limit, for a run that waits in a queue. @default 0 */
  readonly queueMs?: number
  /** Contract: called before `run-start` and every span; if it throws, the run never began. `attempt` numbers the attempts to carry out a run that can be continued; `kept` is what the callbacks have kept with the run that this one goes on from. A run with an `open` leaves it to the host to keep the process alive. */
  open?(run: RunControl): Promise<{
    readonly state?: JsonObject
    readonly attempt?: number
    readonly kept?: JsonObject
    close(): Promise<void>
  }>
  /** Contract: called inside the run span; may load before the agents run, and commit before it passes an event on or ends. */
  around?(ctx: RunContext, run: HostedRun): AsyncIterable<AgentEvent>
  /** The part of an event that the consumer gets; undefined hides it. Contract: the run and its callbacks have the whole event in any case. */
  shows?(event: AgentEvent): AgentEvent | undefined
  /** Polled between steps. */
  cancelling?(): CancelMode | undefined
  /** Contract: called before each model call, each attempt of a tool and what `ctx.perform` does, also in nested runs; what it throws keeps them from beginning. */
  beforeEffect?(): void | Promise<void>
}

/** The run as its host sees it while the agents run. Contract: after an abort the agents end soon, so that the host can still save what they did. */
export interface HostedRun {
  /** Runs the agent of the run on what the host has loaded. */
  agent(start: AgentInput | ResumeInfo): AsyncIterable<AgentEvent>
  /** Says what the agents begin with, for a host that runs them itself. Contract: called before they run; `whole` is false if the thread has earlier messages. */
  begin(start: AgentInput | ResumeInfo, whole?: boolean): void
  /** Waits for agents that the host runs itself. */
  settle(agents: Promise<unknown>): Promise<void>
  /** What the callbacks of the run keep for one that goes on from it. Contract: a host that stores something to go on from stores this with it. */
  kept(): JsonObject | undefined
}

/** The control that a host has over its run. */
export interface RunControl {
  /** Contract: created on first use; aborts with the run, and when its consumer leaves. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  abort(reason: unknown): void
}
