import { EventType } from '@ag-ui/core'
import type { Json } from '@troupe/kernel'
import { type AgUiEvent, isTerminal, type RunWriter } from '../protocol.ts'
import { diff, equal } from '../translate/json-patch.ts'
import { applyPatch } from '../write/apply-patch.ts'
import { runWriter } from '../write/run-writer.ts'
import { SeenEvents } from './seen-events.ts'

/**
 * Leaves out what readers of a run have seen, while the run is translated again from its start.
 * Contract: what comes out is legal after what they have seen; the state and corrections of messages come once everything that was said has come again.
 */
export class UnseenEvents {
  readonly #seen: SeenEvents
  /** Makes a snapshot of the messages. */
  readonly #snapshot: () => readonly AgUiEvent[]
  readonly #writer: RunWriter = runWriter()
  /** The state that readers have, and the state of the run. */
  #shown: Json | undefined
  #state: Json | undefined
  /** How many snapshots of the state readers have seen and the run has not made again. */
  #snapshots = 0
  /** The messages that readers have. */
  readonly #ids: Set<string> = new Set()
  /** Whether the run has corrected its messages meanwhile. */
  #corrected = false
  #caughtUp = false

  constructor(seen: readonly AgUiEvent[], snapshot: () => readonly AgUiEvent[]) {
    this.#seen = new SeenEvents(seen.filter(({ type }) => !isFolded(type)))
    this.#snapshot = snapshot
    for (const event of seen) {
      this.#writer.write(event)
      this.#show(event)
      if (event.type === EventType.STATE_SNAPSHOT) this.#snapshots++
    }
  }

  /** Contract: events of one translation come together. */
  pass(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    const out: AgUiEvent[] = []
    // A run that ends does not catch up any more.
    if (events.some(isTerminal)) this.#catchUp(out)
    for (const event of events) this.#take(event, out)
    if (!this.#caughtUp && this.#seen.caughtUp) this.#catchUp(out)
    return out.flatMap((event) => this.#writer.write(event))
  }

  #take(event: AgUiEvent, out: AgUiEvent[]): void {
    switch (event.type) {
      case EventType.STATE_SNAPSHOT:
        this.#state = event.snapshot
        if (this.#snapshots > 0) this.#snapshots--
        else this.#put(event, out)
        return
      case EventType.STATE_DELTA:
        this.#state = applyPatch(this.#state ?? {}, event.delta)
        if (this.#caughtUp) this.#put(event, out)
        return
      case EventType.MESSAGES_SNAPSHOT:
        if (this.#caughtUp || this.#seen.caughtUp) this.#put(event, out)
        else this.#corrected = true
        return
      default: {
        const unseen = this.#seen.meet(event)
        if (unseen) this.#put(unseen, out)
      }
    }
  }

  #catchUp(out: AgUiEvent[]): void {
    if (this.#caughtUp) return
    this.#caughtUp = true
    if (this.#corrected || this.#seen.differs) this.#correct(out)
    const [shown, state] = [this.#shown, this.#state]
    if (shown === undefined || state === undefined || equal(shown, state)) return
    this.#put({ type: EventType.STATE_DELTA, delta: [...diff(shown, state, '')] }, out)
  }

  /** Shows the messages as they are, if readers have others. */
  #correct(out: AgUiEvent[]): void {
    for (const event of this.#snapshot()) {
      if (event.type !== EventType.MESSAGES_SNAPSHOT) continue
      const ids = new Set(event.messages.map(({ id }) => id))
      if (this.#seen.differs || [...this.#ids].some((id) => !ids.has(id))) this.#put(event, out)
    }
  }

  #put(event: AgUiEvent, out: AgUiEvent[]): void {
    this.#show(event)
    out.push(event)
  }

  /** Notes what readers have after an event. */
  #show(event: AgUiEvent): void {
    switch (event.type) {
      case EventType.STATE_SNAPSHOT:
        this.#shown = event.snapshot
        return
      case EventType.STATE_DELTA:
        this.#shown = applyPatch(this.#shown ?? {}, event.delta)
        return
      case EventType.MESSAGES_SNAPSHOT:
        this.#ids.clear()
        for (const { id } of event.messages) this.#ids.add(id)
        return
      case EventType.TEXT_MESSAGE_START:
      case EventType.REASONING_MESSAGE_START:
      case EventType.TOOL_CALL_RESULT:
        this.#ids.add(event.messageId)
        return
      case EventType.TOOL_CALL_START:
        if (event.parentMessageId !== undefined) this.#ids.add(event.parentMessageId)
    }
  }
}

function isFolded(type: EventType): boolean {
  return type === EventType.STATE_SNAPSHOT || type === EventType.STATE_DELTA || type === EventType.MESSAGES_SNAPSHOT
}
