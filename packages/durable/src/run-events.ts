import { type AgentEvent, KernelError } from '@troupe/kernel'
import { ShownEvents } from '@troupe/kernel/journal'
import { type EventEntry, type EventLogPlace, eventOf, isEnd } from './event-log.ts'
import { type Following, followEvents } from './follow-events.ts'

/**
 * The events of a run, to its end, from its log.
 * Contract: throws the reason of a run that never began, and `NOT_FOUND` if its end is lost; an event is given once, even if the log has lost its end with the database server and is written anew.
 */
export class RunEvents implements AsyncIterable<AgentEvent> {
  readonly #place: EventLogPlace
  readonly #following: Following
  /** What was given, to be compared with a log that is written anew. */
  readonly #given: AgentEvent[]
  /** The marks of the attempts that were read from their beginning. */
  readonly #marks: Set<string> = new Set()
  #seen: ShownEvents | undefined

  /** `before` are events that the reader has already. */
  constructor(place: EventLogPlace, following: Following, before: Iterable<AgentEvent> = []) {
    this.#place = place
    this.#following = following
    this.#given = [...before]
    if (this.#given.length > 0) this.#seen = new ShownEvents(this.#given)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void> {
    try {
      while (yield* this.#read()) this.#seen = new ShownEvents(this.#given)
    } finally {
      this.#following.release()
    }
  }

  /** Reads the log from its beginning. Contract: gives whether it has to be read again, because an attempt has begun in what this reader has passed. */
  async *#read(): AsyncGenerator<AgentEvent, boolean> {
    for await (const entry of followEvents(this.#place, this.#following)) {
      if (entry.type === '~refused') throw KernelError.from(entry.error)
      if (this.#misses(entry)) return true
      const event = eventOf(entry)
      const shown = event && this.#seen ? this.#seen.unseen(event) : event
      if (shown) {
        this.#given.push(shown)
        yield shown
      }
      if (isEnd(entry, this.#place.runId)) return false
    }
    return false
  }

  /** Whether an entry is of an attempt whose beginning was missed. */
  #misses(entry: EventEntry): boolean {
    if (entry.type === '~attempt') this.#marks.add(entry.mark)
    const mark = '~' in entry ? entry['~'] : undefined
    if (mark === undefined || this.#marks.has(mark)) return false
    this.#marks.add(mark)
    return true
  }
}
