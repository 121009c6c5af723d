import { EventType } from '@ag-ui/core'
import { type AgUiEvent, isTerminal } from '../protocol.ts'

/**
 * The order for clients up to 0.0.36, which refuse any other event while a text or a call is open, and a step within a step.
 * Contract: what is open is shown as it comes; everything else waits until it has ended; nothing but inner steps is lost, and nothing waits beyond the terminal event.
 */
export class SerialOrder {
  #open: string | undefined
  /** The step that is shown. */
  #step: string | undefined
  #waiting: AgUiEvent[] = []

  /** The events that can be shown now. */
  take(event: AgUiEvent): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    if (this.#isInnerStep(event)) return out
    if (isTerminal(event)) return [...this.#waiting.splice(0), event]
    if (!this.#show(event, out)) this.#waiting.push(event)
    else if (this.#open === undefined) this.#goOn(out)
    return out
  }

  /** Whether an event starts or ends a step within another one: these clients take all steps for one. */
  #isInnerStep(event: AgUiEvent): boolean {
    if (event.type !== EventType.STEP_STARTED && event.type !== EventType.STEP_FINISHED) return false
    const step = JSON.stringify([event.stepName, event.subagentRunId])
    const begins = event.type === EventType.STEP_STARTED
    if (this.#step !== (begins ? undefined : step)) return true
    this.#step = begins ? step : undefined
    return false
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
