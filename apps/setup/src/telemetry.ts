import type { AgentHandler, Callback, RunContext } from '@troupe/kernel'

/** The traces and metrics of an app. */
export interface Telemetry extends AsyncDisposable {
  readonly callbacks: readonly Callback[]
  /** Contract: they come before all other handlers of an agent. */
  readonly handlers: readonly AgentHandler[]
  /** Gives the id of the trace that a run belongs to; undefined where nothing is traced. */
  traceIdOf(ctx: RunContext): string | undefined
}
