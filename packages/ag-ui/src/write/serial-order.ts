import { EventType } from '@ag-ui/core'
import { type AgUiEvent, isTerminal } from '../protocol.ts'

/**
 * The order for clients up to 0.0.36, which refuse any other event while a text or a call is open.
 * Contract: what is open is shown as it comes; everything else waits until it has ended; nothing is lost and nothing waits beyond the terminal event.
 */
export class SerialOrder {
  #open: string | undefined
  #waiting: AgUiEvent[] = []

  /** The events that can be shown now. */
  take(event: AgUiEvent): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    if (isTerminal(event)) return [...this.#waiting.splice(0), event]
    if (!this.#show(event, out)) this.#waiting.push(event)
    else if (this.#open === undefined) this.#goOn(out)
    return out
  }

  /** Shows what has waited, from its beginning whenever something has ended. */
  #goOn(out: AgUiEvent[]): void {
    for (let i = 0; i < this.#waiting.length; ) {
      if (!this.#show(this.#waiting[i] as AgUiEvent, out)) {
        i++
        continue
      }
      this.#waiting.splice(i, 1)
      if (this.#open === undefined) i = 0
    }
  }

  #show(event: AgUiEvent, out: AgUiEvent[]): boolean {
    const entity = entityOf(event)
    if (this.#open !== undefined && entity !== this.#open) return false
    out.push(event)
    if (isEnd(event)) this.#open = undefined
    else if (entity !== undefined) this.#open = entity
    return true
  }
}

/** The text or call that an event belongs to. */
function entityOf(event: AgUiEvent): string | undefined {
  switch (event.type) {
    case EventType.TEXT_MESSAGE_START:
    case EventType.TEXT_MESSAGE_CONTENT:
    case EventType.TEXT_MESSAGE_END:
      return `text ${event.messageId}`
    case EventType.TOOL_CALL_START:
    case EventType.TOOL_CALL_ARGS:
    case EventType.TOOL_CALL_END:
      return `call ${event.toolCallId}`
    default:
      return undefined
  }
}

function isEnd({ type }: AgUiEvent): boolean {
  return type === EventType.TEXT_MESSAGE_END || type === EventType.TOOL_CALL_END
}
