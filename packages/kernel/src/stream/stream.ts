import { KernelError } from '../data/kernel-error.ts'
import { Channel, type StreamOptions } from './channel.ts'
import { type Sink, sinkTo } from './sink.ts'

/** The symbol of the pipe method, the same in every copy of the kernel. */
export const PIPE: unique symbol = Symbol.for('troupe.pipe') as never

/** A stream that can also push: a plain `AsyncIterable` to consumers, one synchronous call per value between the kernel's layers. */
export interface PipeStream<T> extends AsyncIterable<T> {
  /** Contract: resolves when the producer has ended, rejects when it failed; may be taken once, by pipe or by iterator. */
  [PIPE](sink: Sink<T>): Promise<void>
}

/**
 * Makes a stream of a producer.
 * Contract: lazy; iterating owns a channel of capacity 1; leaving rejects parked writes, and a run's own iterator aborts the run first, even while the model is silent.
 * @example stream<string>(async (sink) => { const wait = sink.write('hello'); if (wait) await wait })
 */
export function stream<T>(produce: (sink: Sink<T>) => Promise<void>, options?: StreamOptions<T>): PipeStream<T> {
  return new Producer(produce, options)
}

class Producer<T> implements PipeStream<T> {
  #produce: ((sink: Sink<T>) => Promise<void>) | undefined
  readonly #options: StreamOptions<T> | undefined

  constructor(produce: (sink: Sink<T>) => Promise<void>, options: StreamOptions<T> | undefined) {
    this.#produce = produce
    this.#options = options
  }

  [PIPE](sink: Sink<T>): Promise<void> {
    try {
      return this.#take()(sink)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return new Channel(this.#take(), this.#options)
  }

  #take(): (sink: Sink<T>) => Promise<void> {
    const produce = this.#produce
    if (!produce) throw new KernelError('STREAM_CONSUMED', 'stream: can be read once, got a second reader')
    this.#produce = undefined
    return produce
  }
}

/**
 * Passes a stream on to a sink: by its pipe if it has one, otherwise by `for await`.
 * @example await pipe(model.stream(request, { signal }), parts)
 */
export function pipe<T>(source: AsyncIterable<T>, sink: Sink<T>): Promise<void> {
  return PIPE in source ? (source as PipeStream<T>)[PIPE](sink) : pull(source, sink)
}

async function pull<T>(source: AsyncIterable<T>, sink: Sink<T>): Promise<void> {
  for await (const value of source) {
    const wait = sink.write(value)
    if (wait) await wait
  }
}

/**
 * Maps a stream without a generator layer; `undefined` leaves a value out. Used in `wrapModelCall`.
 * @example mapStream(next(ctx, request), (part) => (part.type === 'reasoning-delta' ? undefined : part))
 */
export function mapStream<T, U>(source: AsyncIterable<T>, map: (value: T) => U | undefined): PipeStream<U> {
  return stream((sink) =>
    pipe(
      source,
      sinkTo(sink, (value) => {
        const mapped = map(value)
        return mapped === undefined ? undefined : sink.write(mapped)
      }),
    ),
  )
}
