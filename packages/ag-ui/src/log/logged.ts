import type { AgUiEvent } from '../protocol.ts'

/** An event of the run log. */
export interface Logged {
  /** Contract: grows from event to event, in a compacted log by more than one. */
  readonly seq: number
  readonly event: AgUiEvent
  /** The event as JSON, if it has been encoded already. */
  readonly json?: string
}
