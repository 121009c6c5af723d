import { EventType, type StateDeltaEvent } from '@ag-ui/core'
import type { Json, LogEntry } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { applyPatch } from '../write/apply-patch.ts'
import { charsInRow } from './event-rows.ts'
import { PackedEntry } from './packed-entry.ts'
import { textPieceOf } from './text-piece.ts'

/** After how many characters an entry ends, so that a reader gets a long log in pieces. */
const ENTRY_CHARS = 32_768
/** A log is compacted if that makes it shorter by at least so many characters, and this part of what it was. */
const SAVED_CHARS = 512
const SAVED_PART = 0.1

/** The state of a run where it was shown last. */
interface ShownState {
  readonly value: Json
  readonly entry: PackedEntry
  readonly index: number
}

/** Makes a log shorter, event by event: the pieces of a text become one, and of the state only what it is in the end stays. */
export class LogPacker {
  #entries: PackedEntry[] = []
  #last: PackedEntry = new PackedEntry()
  /** The characters of the entries before the last, and of all events. */
  #charsOfEntries = 0
  #charsOfEvents = 0
  #state: ShownState | undefined
  readonly #most: number
  /** The characters that it would hold if it had not dropped what it had. */
  #dropped: number | undefined

  /** Contract: holds at most so many characters; beyond that it only counts. */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /** Whether it has all events. */
  get isWhole(): boolean {
    return this.#dropped === undefined
  }

  /** How many characters it holds, about. */
  get chars(): number {
    return this.#dropped ?? this.#charsOfEntries + this.#last.chars
  }

  /** Whether the entries are much shorter than the events. */
  get worthIt(): boolean {
    return this.#charsOfEvents - this.chars > Math.max(SAVED_CHARS, this.#charsOfEvents * SAVED_PART)
  }

  /** Adds the next event of the log, which has so many characters as JSON. */
  add(event: AgUiEvent, chars: number): void {
    this.#charsOfEvents += chars
    const piece = textPieceOf(event)
    if (this.#dropped !== undefined) {
      this.#dropped += piece ? piece.delta.length : isState(event) ? 0 : charsInRow(event, chars)
      return
    }
    if (piece && piece.delta !== '') this.#last.addPiece(event, piece.key, piece.delta, chars)
    else if (event.type === EventType.STATE_SNAPSHOT) this.#show(event, event.snapshot as Json, chars)
    else if (event.type === EventType.STATE_DELTA && this.#state) this.#change(event, this.#state, chars)
    else this.#last.addWhole(event, chars)
    if (this.#last.chars >= ENTRY_CHARS) this.#begin()
    if (this.chars > this.#most) this.#drop()
  }

  /** The compacted log. Contract: called once, after the last event, if it is whole. */
  entries(): readonly LogEntry[] {
    let seq = 0
    if (this.#last.size > 0) this.#begin()
    return this.#entries.map((entry) => {
      seq += entry.size
      return { seq, event: entry.event() }
    })
  }

  #drop(): void {
    this.#dropped = this.chars
    this.#entries = []
    this.#last = new PackedEntry()
    this.#state = undefined
  }

  #begin(): void {
    this.#charsOfEntries += this.#last.chars
    this.#entries.push(this.#last)
    this.#last = new PackedEntry()
  }

  #change(event: StateDeltaEvent, { value }: ShownState, chars: number): void {
    try {
      const snapshot = applyPatch(value, event.delta)
      this.#show({ type: EventType.STATE_SNAPSHOT, snapshot }, snapshot, chars)
    } catch {
      // Clients may understand this patch: from here on they get each of them.
      this.#state = undefined
      this.#last.addWhole(event, chars)
    }
  }

  /** Shows the state here, and no longer where it was shown before. */
  #show(event: AgUiEvent, value: Json, chars: number): void {
    if (this.#state) {
      const { entry, index } = this.#state
      const freed = entry.drop(index)
      if (entry !== this.#last) this.#charsOfEntries -= freed
    }
    this.#state = { value, entry: this.#last, index: this.#last.addWhole(event, chars) }
  }
}

/** Of all states only the last one stays. */
function isState({ type }: AgUiEvent): boolean {
  return type === EventType.STATE_SNAPSHOT || type === EventType.STATE_DELTA
}
