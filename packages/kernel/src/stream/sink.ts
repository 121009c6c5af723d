/** Receives the values of a producer. Contract: `if (wait) await wait` after each write; a write after the consumer left rejects with `ABORTED`. */
export interface Sink<T> {
  write(value: T): void | Promise<void>
  /** Whether values are no longer taken. */
  readonly closed?: boolean
}

/**
 * A sink in front of another one, closed when that one is.
 * @example pipe(source, sinkTo(sink, (event) => (event.type === 'custom' ? undefined : sink.write(event))))
 */
export function sinkTo<T>(next: Sink<never>, write: (value: T) => void | Promise<void>): Sink<T> {
  return new FrontSink(next, write)
}

/** A class, because an object literal with a getter has a hidden class of its own each time, and that keeps a whole run in memory until the next full collection. */
class FrontSink<T> implements Sink<T> {
  readonly write: (value: T) => void | Promise<void>
  readonly #next: Sink<never>

  constructor(next: Sink<never>, write: (value: T) => void | Promise<void>) {
    this.#next = next
    this.write = write
  }

  get closed(): boolean {
    return this.#next.closed ?? false
  }
}
