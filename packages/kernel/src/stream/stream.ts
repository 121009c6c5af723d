/** Where a producer puts values. Contract: `if (wait) await wait` after each write; a write after the consumer left rejects with `ABORTED`. */
export interface Sink<T> {
  write(value: T): void | Promise<void>
}
/** The well-known symbol of the pipe, the same in every copy of the kernel. */
export declare const PIPE: unique symbol

/** A stream that can also be pushed: plain `AsyncIterable` outside, one synchronous call per value between our own layers. */
export interface PipeStream<T> extends AsyncIterable<T> {
  /** Contract: resolves when the producer has ended, rejects when it failed; may be taken once, by pipe or by iterator. */
  [PIPE](sink: Sink<T>): Promise<void>
}

/** Makes a stream of a producer. Contract: lazy; iterating owns a channel of capacity 1; leaving rejects parked writes, and a run's own iterator aborts the run first, even while the model is silent. */
export declare function stream<T>(produce: (sink: Sink<T>) => Promise<void>): PipeStream<T>
/** Hands a stream on: by its pipe if it has one, else by `for await`. */
export declare function pipe<T>(source: AsyncIterable<T>, sink: Sink<T>): Promise<void>
/** Maps without a generator layer; `undefined` leaves a value out. What `wrapModelCall` uses. */
export declare function mapStream<T, U>(source: AsyncIterable<T>, map: (value: T) => U | undefined): PipeStream<U>
/** A child of an abort signal. Contract: linked by hand, so dispose it (`using`) or it leaks a listener. */
export interface AbortScope extends Disposable {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}
/** Opens a child abort scope; `AbortSignal.any` and `.timeout` are banned. */
export declare function abortScope(parent: AbortSignal): AbortScope
