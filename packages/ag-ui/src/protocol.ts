import { type AGUIEvent, EventType, type Message, type RunErrorEvent } from '@ag-ui/core'
import type { AgentEvent } from '@troupe/kernel'

/** An event of the AG-UI protocol as the run log has it: canonical 1.0 JSON. */
export type AgUiEvent = AGUIEvent
/** A message as AG-UI clients keep it. */
export type AgUiMessage = Message

export type { RunAgentInput } from '@ag-ui/core'

/** Whether an event is the last one of a run. */
export function isTerminal(event: AgUiEvent): boolean {
  return event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR
}

/** Turns the events of one run into AG-UI events. Contract: synchronous; changes only its own state; never throws; clients accept the order of its events, whatever the run does. */
export interface Translator {
  translate(event: AgentEvent): readonly AgUiEvent[]
  /** Closes what is open and ends the run, unless it has ended. @default a RUN_ERROR */
  end(error?: RunErrorEvent): readonly AgUiEvent[]
}

/** Keeps the event order that clients enforce. Contract: its output is legal for any input, and has one terminal. */
export interface RunWriter {
  write(event: AgUiEvent): readonly AgUiEvent[]
  /** Writes several events. Contract: returns the given array if no event is added or left out. */
  writeAll(events: readonly AgUiEvent[]): readonly AgUiEvent[]
  /** Closes all open entities and ends the run, unless it has ended. @default a RUN_ERROR */
  end(terminal?: AgUiEvent): readonly AgUiEvent[]
  readonly ended: boolean
}
