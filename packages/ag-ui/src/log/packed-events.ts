import type { Json } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { isJsonObject } from '../translate/json-patch.ts'
import { type EventRow, eventsOf, rowsOf } from './event-rows.ts'
import type { Logged } from './logged.ts'
import { orderText, type Place, placesOf } from './order-text.ts'
import { textPieceOf, withDelta } from './text-piece.ts'

/**
 * Events of a compacted log as one entry: each text is whole, in the event of its first piece, and `order` says which event or piece stood at each sequence.
 * Contract: events have a `type` and this has none, so that they can be told apart.
 */
export interface PackedEvents {
  readonly packed: readonly (EventRow | AgUiEvent)[]
  readonly order: string
}

/** Packs events that stand at these places. */
export function packedEvents(events: readonly AgUiEvent[], places: Iterable<Place>): PackedEvents {
  return { packed: rowsOf(events), order: orderText(places) }
}

/**
 * The events of an entry that come after a sequence.
 * Contract: exactly what stood there, but that pieces of one text without another event between them come as one, with the sequence of the last.
 */
export function unpacked(seq: number, entry: Json, after: number): readonly Logged[] {
  if (!isPacked(entry)) return [{ seq, event: entry as unknown as AgUiEvent }]
  const events = eventsOf(entry.packed)
  const places = placesOf(entry.order)
  const texts = new Map<number, TextReader>()
  const out: Logged[] = []
  let at = seq - places.length
  let open: TextReader | undefined
  const close = () => {
    if (open) out.push(open.taken())
    open = undefined
  }
  for (const { event: index, length } of places) {
    at++
    if (index === undefined) continue
    const event = events[index] as AgUiEvent
    if (length === undefined) {
      close()
      if (at > after) out.push({ seq: at, event })
      continue
    }
    const text = texts.get(index) ?? new TextReader(event)
    texts.set(index, text)
    if (at > after && open !== text) close()
    text.read(at, length, at > after)
    if (at > after) open = text
  }
  close()
  return out
}

/** Reads a text piece by piece. */
class TextReader {
  readonly #event: AgUiEvent
  readonly #text: string
  #from = 0
  #to = 0
  #seq = 0

  constructor(event: AgUiEvent) {
    this.#event = event
    this.#text = textPieceOf(event)?.delta ?? ''
  }

  /** Contract: pieces that are not wanted come before those that are. */
  read(seq: number, length: number, wanted: boolean): void {
    this.#to += length
    this.#seq = seq
    if (!wanted) this.#from = this.#to
  }

  /** The pieces since the last call, as one. */
  taken(): Logged {
    const delta = this.#text.slice(this.#from, this.#to)
    this.#from = this.#to
    return { seq: this.#seq, event: withDelta(this.#event, delta) }
  }
}

function isPacked(entry: Json): entry is Json & PackedEvents {
  return isJsonObject(entry) && 'packed' in entry && !('type' in entry)
}
