import type { AGUIEvent, Message } from '@ag-ui/core'
import type { AgentEvent } from '@troupe/kernel'

/** An event of the AG-UI protocol as it stands in the run log: canonical 1.0 JSON. */
export type AgUiEvent = AGUIEvent
/** A message as AG-UI clients keep it. */
export type AgUiMessage = Message

export type { RunAgentInput } from '@ag-ui/core'

/** Turns the events of one run into AG-UI events. Contract: synchronous, pure but for its own memory; never throws. */
export interface Translator {
  translate(event: AgentEvent): readonly AgUiEvent[]
}

/** Keeps the order that clients enforce. Contract: what it returns is legal whatever it is given, and holds one terminal. */
export interface RunWriter {
  write(event: AgUiEvent): readonly AgUiEvent[]
  /** The same for several at once. Contract: returns the very array where nothing is to be added or left out. */
  writeAll(events: readonly AgUiEvent[]): readonly AgUiEvent[]
  /** Closes what is open and ends the run, if nobody has. @default a RUN_ERROR */
  end(terminal?: AgUiEvent): readonly AgUiEvent[]
  readonly ended: boolean
}
