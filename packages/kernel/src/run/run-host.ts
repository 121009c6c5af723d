import type { AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { RunContext } from '../context/context.ts'
import type { CancelMode } from '../data/cancel.ts'
import type { AgentEvent } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'

/** Hosts a run: takes its thread, loads and saves; a Runner has one for each run. */
export interface RunHost {
  /** How long `open` may take beyond the run's time limit, for a run that waits in a queue. @default 0 */
  readonly queueMs?: number
  /** Contract: called before `run-start` and every span; if it throws, the run never began. A run with an `open` leaves it to the host to keep the process alive. */
  open?(run: RunControl): Promise<{ readonly state?: JsonObject; close(): Promise<void> }>
  /** Contract: called inside the run span; may load before `next`, and commit before it passes an event on or ends. */
  around?(ctx: RunContext, next: RunNext): AsyncIterable<AgentEvent>
  /** Polled between steps. */
  cancelling?(): CancelMode | undefined
}

/** Runs the agent of a run on what the host has loaded; `agents` are the events of agents that the host runs instead. Contract: after an abort the events end soon, so that the host can still save them. */
export type RunNext = (start: AgentInput | ResumeInfo, agents?: AsyncIterable<AgentEvent>) => AsyncIterable<AgentEvent>

/** The control that a host has over its run. */
export interface RunControl {
  /** Contract: created on first use; aborts with the run, and when its consumer leaves. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  abort(reason: unknown): void
}
