import type { Logged } from '../log/logged.ts'

/** The most that a run keeps of its log in memory. Half of it holds a whole batch, so a follower that keeps up never reads the log. */
const TAIL_EVENTS = 2_048
const TAIL_BYTES = 524_288

/**
 * The last events of a run log in memory, for followers in this process.
 * Contract: holds only logged events; bounded, but for the last ones; a follower has a position and no buffer of its own.
 */
export class Tail {
  #events: Logged[] = []
  #bytes = 0
  #last = 0
  #closed = false
  readonly #waiting: Set<() => void> = new Set()

  /** The last logged sequence. */
  get last(): number {
    return this.#last
  }

  /** No more events will come. */
  get closed(): boolean {
    return this.#closed
  }

  /** Begins after the events of another process. Contract: called before the first `push`. */
  beginAfter(last: number): void {
    this.#last = last
  }

  /** The events in memory. */
  get kept(): readonly Logged[] {
    return this.#events
  }

  push(logged: readonly Logged[]): void {
    const before = this.#events.length
    for (const entry of logged) {
      this.#events.push(entry)
      this.#bytes += entry.json?.length ?? 0
      this.#last = entry.seq
    }
    if (this.#events.length > TAIL_EVENTS || this.#bytes > TAIL_BYTES) this.#shorten(before)
    this.#wake()
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  /** The events after a sequence; undefined if they have to be read from the log. */
  since(after: number): readonly Logged[] | undefined {
    const first = this.#events[0]?.seq ?? this.#last + 1
    if (after < first - 1) return undefined
    return after >= this.#last ? [] : this.#events.slice(after - first + 1)
  }

  /** Resolves at the next change or when the signal aborts. Contract: leaves no listener on the tail or the signal. */
  changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#closed) return Promise.resolve()
    return new Promise((resolve) => {
      const resume = () => {
        this.#waiting.delete(resume)
        signal.removeEventListener('abort', resume)
        resolve()
      }
      this.#waiting.add(resume)
      signal.addEventListener('abort', resume)
    })
  }

  /** Drops half, so that this is not repeated for every event. Contract: keeps what was pushed last, whatever its size, so followers that keep up need not read it. */
  #shorten(most: number): void {
    let drop = 0
    while (drop < most) {
      if (this.#events.length - drop <= TAIL_EVENTS / 2 && this.#bytes <= TAIL_BYTES / 2) break
      this.#bytes -= this.#events[drop++]?.json?.length ?? 0
    }
    this.#events = this.#events.slice(drop)
  }

  #wake(): void {
    for (const resume of [...this.#waiting]) resume()
  }
}
