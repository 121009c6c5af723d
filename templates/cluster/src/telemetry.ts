import type { AgentHandler, Callback } from '@troupe/kernel'

/** The traces and metrics of the app. */
export interface Telemetry extends AsyncDisposable {
  readonly callbacks: readonly Callback[]
  /** They come before all other handlers of an agent. */
  readonly handlers: readonly AgentHandler[]
}
