import type { Json } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { charsInRow } from './event-rows.ts'
import type { Place } from './order-text.ts'
import { packedEvents } from './packed-events.ts'
import { withDelta } from './text-piece.ts'

/** An event of the entry; of a text it is the first piece. */
interface Part {
  readonly event: AgUiEvent
  readonly chars: number
  /** The text so far. */
  text?: string
  dropped?: true
}

/** An entry of a compacted log in the making. */
export class PackedEntry {
  readonly #parts: Part[] = []
  /** For each sequence the index of its part, and the length of its piece; 0 for a whole event. */
  readonly #indexes: number[] = []
  readonly #lengths: number[] = []
  /** By key of a text; `besides` is what its pieces have beside their text. */
  readonly #texts: Map<string, { readonly part: Part; readonly index: number; readonly besides: string }> = new Map()
  /** How many characters it has, about. */
  chars = 0

  /** How many events it stands for. */
  get size(): number {
    return this.#indexes.length
  }

  /** Adds an event, and gives its index. */
  addWhole(event: AgUiEvent, size: number): number {
    const chars = charsInRow(event, size)
    this.#place(this.#parts.length, 0)
    this.chars += chars
    return this.#parts.push({ event, chars }) - 1
  }

  /** Adds a piece of a text. */
  addPiece(event: AgUiEvent, key: string, delta: string, size: number): void {
    const known = this.#texts.get(key)
    const besides = besidesOf(event)
    if (known?.besides === besides) {
      known.part.text += delta
      this.#place(known.index, delta.length)
      this.chars += delta.length + 1
      return
    }
    const index = this.#parts.length
    const part = { event, chars: charsInRow(event, size), text: delta }
    this.#texts.set(key, { part, index, besides })
    this.#place(index, delta.length)
    this.#parts.push(part)
    this.chars += part.chars
  }

  /** Leaves out a whole event, and gives how many characters it had. */
  drop(index: number): number {
    const part = this.#parts[index] as Part
    part.dropped = true
    this.chars -= part.chars
    return part.chars
  }

  /** The entry: a single event as it is, others packed. */
  event(): Json {
    const kept = this.#parts.filter(({ dropped }) => !dropped)
    const events = kept.map(({ event, text }) => (text === undefined ? event : withDelta(event, text)))
    if (this.size === 1 && events.length === 1) return events[0] as unknown as Json
    return packedEvents(events, this.#places()) as unknown as Json
  }

  *#places(): Generator<Place> {
    let next = 0
    const indexes = this.#parts.map(({ dropped }) => (dropped ? undefined : next++))
    for (const [at, part] of this.#indexes.entries()) {
      const event = indexes[part]
      const length = this.#lengths[at] as number
      yield event === undefined ? {} : length === 0 ? { event } : { event, length }
    }
  }

  #place(index: number, length: number): void {
    this.#indexes.push(index)
    this.#lengths.push(length)
  }
}

/** The fields of a piece that most pieces do not have; its time does not count. */
function besidesOf(event: AgUiEvent): string {
  const { type: _1, timestamp: _2, delta: _3, messageId: _4, toolCallId: _5, name: _6, ...others } = event as Fields
  const { value } = others
  if (value !== undefined) {
    const { delta: _7, toolCallId: _8, ...rest } = value as Fields
    others.value = rest
  }
  for (const _ in others) return JSON.stringify(others)
  return ''
}

type Fields = Record<string, unknown>
