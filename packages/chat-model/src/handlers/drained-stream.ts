import {
  contextKey,
  type Part,
  type PipeStream,
  type RunContext,
  type Sink,
  type StreamTool,
  stream,
} from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { isHandlerError } from '../errors/error-origin.ts'

type Chunk = string | Part

/** The streams that `next` has given to the wrap of this context. */
const STREAMS = contextKey<DrainedStream[]>('chat-model.drained-streams')

/** The stream that a wrap gets from `next`. Contract: leaving it stops the tool; `drain` reads the rest if the wrap has not. */
class DrainedStream implements Sink<Chunk> {
  readonly stream: PipeStream<Chunk>
  readonly #source: AsyncIterable<Chunk>
  #reader: Sink<Chunk> | undefined
  #reading: Promise<void> | undefined
  /** Ends the wait for a reader that has stopped reading without leaving. */
  #release: (() => void) | undefined

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source
    this.stream = stream((sink) => this.#read(sink))
  }

  /** Reads the rest of the stream and discards it. */
  async drain(): Promise<void> {
    if (this.closed) return
    const reading = this.#reading ?? this.#read(DISCARD)
    this.#reader = DISCARD
    this.#release?.()
    try {
      await reading
    } catch (error) {
      if (isHandlerError(error)) throw error
      // The result of the call has every other error.
    }
  }

  get closed(): boolean {
    return this.#reader?.closed ?? false
  }

  write(chunk: Chunk): void | Promise<void> {
    const wait = this.#reader?.write(chunk)
    if (!wait) return
    return new Promise((resolve, reject) => {
      this.#release = resolve
      wait.then(resolve, reject)
    })
  }

  #read(reader: Sink<Chunk>): Promise<void> {
    this.#reader = reader
    this.#reading = pipe(this.#source, this)
    return this.#reading
  }
}

const DISCARD: Sink<unknown> = { write: () => undefined }

/** Makes the `next` of a wrap: its streams are drained by the `drainScope` of the wrap. */
export function withDrainedStream(next: StreamTool): StreamTool {
  return async (ctx, input) => {
    const call = await next(ctx, input)
    const drained = new DrainedStream(call.stream)
    ctx.get(STREAMS)?.push(drained)
    return { stream: drained.stream, result: call.result }
  }
}

/** Gives a wrap its context. Contract: a stream from `drainAfter` ends when every stream that the wrap got from `next` has ended too. */
export function drainScope(ctx: RunContext): {
  readonly ctx: RunContext
  drainAfter(chunks: AsyncIterable<Chunk>): PipeStream<Chunk>
} {
  const streams: DrainedStream[] = []
  return {
    ctx: ctx.with(STREAMS, streams),
    drainAfter: (chunks) =>
      stream(async (sink) => {
        await pipe(chunks, sink)
        for (const one of streams) await one.drain()
      }),
  }
}
