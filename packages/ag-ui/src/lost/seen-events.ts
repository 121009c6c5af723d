import { EventType } from '@ag-ui/core'
import { withDelta } from '../log/text-piece.ts'
import type { AgUiEvent } from '../protocol.ts'
import { keyOf } from './event-key.ts'

/** An event, or a text in pieces, that readers have seen. */
interface Seen {
  /** The sub-agent that it comes from. */
  readonly owner: string
  readonly said: boolean
  /** Where in the log it is, once for each time. */
  readonly places: number[]
  text: string
  /** How much of the text has come again. */
  at: number
}

/**
 * The events that readers of a run have seen, while the run is translated again from its start.
 * Contract: order does not matter, because parallel branches may come in another one.
 */
export class SeenEvents {
  readonly #seen: Map<string, Seen> = new Map()
  /** By sub-agent: how much of the conversation has not come again. */
  readonly #left: Map<string, number> = new Map()
  /** The call around each sub-agent. */
  readonly #around: Map<string, { readonly call: string | undefined; readonly owner: string }> = new Map()
  /** The place of the last result that came again: what tools emitted before it does not come again. */
  #answered = -1
  /** Whether a message or a result has come again with other words. */
  differs = false

  constructor(events: Iterable<AgUiEvent>) {
    let place = 0
    for (const event of events) this.#add(event, place++)
  }

  /** Whether all that was said has come again. */
  get caughtUp(): boolean {
    for (const left of this.#left.values()) if (left > 0) return false
    return true
  }

  /** The part of an event that readers have not seen; undefined if they have seen all of it. */
  meet(event: AgUiEvent): AgUiEvent | undefined {
    if (this.#seen.size === 0) return event
    const { key, delta, content } = keyOf(event)
    this.#endTexts(event)
    const seen = this.#seen.get(key)
    if (!seen) return event
    if (content !== undefined && content !== seen.text) this.differs = true
    return delta === undefined ? this.#meetWhole(event, key, seen) : this.#meetText(event, delta, key, seen)
  }

  #meetWhole(event: AgUiEvent, key: string, { places }: Seen): AgUiEvent | undefined {
    const first = isEmitted(event) ? places.findIndex((place) => place > this.#answered) : 0
    const [place] = first < 0 ? [] : places.splice(0, first + 1).slice(first)
    if (first < 0 || places.length === 0) this.#done(key)
    if (place === undefined) return event
    if (event.type === EventType.TOOL_CALL_RESULT) this.#answer(event.toolCallId, place)
    return undefined
  }

  #meetText(event: AgUiEvent, delta: string, key: string, seen: Seen): AgUiEvent | undefined {
    const known = seen.text.slice(seen.at, seen.at + delta.length)
    seen.at += known.length
    if (!delta.startsWith(known)) this.#differ(event, key, seen)
    if (Number.isNaN(seen.at)) return undefined
    if (seen.at === seen.text.length) this.#done(key)
    return known.length === delta.length ? undefined : withDelta(event, delta.slice(known.length))
  }

  /** Leaves out the rest of a text that has come again with other words; a snapshot corrects it, when its message has ended. */
  #differ(event: AgUiEvent, key: string, seen: Seen): void {
    this.differs ||= seen.said
    seen.text = ''
    seen.at = Number.NaN
    if (event.type === EventType.REASONING_MESSAGE_CONTENT) this.#done(key)
  }

  /** A text that ends has come again, even if it is shorter now. */
  #endTexts(event: AgUiEvent): void {
    const text = endedBy(event)
    if (text === undefined || !this.#seen.has(text)) return
    this.differs = true
    this.#done(text)
  }

  /** A result has come again: runs inside a call that was recorded as one step do not. */
  #answer(callId: string, place: number): void {
    this.#answered = Math.max(this.#answered, place)
    for (const owner of this.#left.keys()) if (this.#isInside(owner, callId)) this.#left.set(owner, 0)
  }

  #isInside(owner: string, callId: string): boolean {
    for (let at = this.#around.get(owner); at; at = this.#around.get(at.owner)) if (at.call === callId) return true
    return false
  }

  #done(key: string): void {
    const seen = this.#seen.get(key)
    this.#seen.delete(key)
    if (seen?.said) this.#left.set(seen.owner, Math.max(0, (this.#left.get(seen.owner) ?? 0) - 1))
  }

  #add(event: AgUiEvent, place: number): void {
    const { key, delta, content, said = false } = keyOf(event)
    const owner = ('subagentRunId' in event && event.subagentRunId) || ''
    if (event.type === EventType.SUBAGENT_STARTED) {
      const { subagentRunId, parentToolCallId: call, parentSubagentRunId: parent = '' } = event
      this.#around.set(subagentRunId, { call, owner: parent })
    }
    const known = this.#seen.get(key)
    if (known) {
      known.text += delta ?? ''
      if (delta === undefined) known.places.push(place)
      return
    }
    this.#seen.set(key, {
      owner,
      said,
      places: delta === undefined ? [place] : [],
      text: delta ?? content ?? '',
      at: 0,
    })
    if (said) this.#left.set(owner, (this.#left.get(owner) ?? 0) + 1)
  }
}

/** Whether an event is emitted by a tool or a handler, which may not run again. */
function isEmitted({ type }: AgUiEvent): boolean {
  return type === EventType.CUSTOM || type === EventType.ACTIVITY_SNAPSHOT || type === EventType.ACTIVITY_DELTA
}

/** The key of the text that an event ends. */
function endedBy(event: AgUiEvent): string | undefined {
  switch (event.type) {
    case EventType.TEXT_MESSAGE_END:
      return `${EventType.TEXT_MESSAGE_CONTENT} ${event.messageId}`
    case EventType.TOOL_CALL_END:
      return `${EventType.TOOL_CALL_ARGS} ${event.toolCallId}`
    default:
      return undefined
  }
}
