import {
  contextKey,
  type Part,
  type PipeStream,
  pipe,
  type RunContext,
  type Sink,
  type StreamTool,
  stream,
} from '@troupe/kernel'
import { isHandlerError } from './handler-error.ts'

type Chunk = string | Part

/** The streams that the wrap in this context was given. */
const LENT = contextKey<LentStream[]>('chat-model.lent')

/** The stream of a call as a wrap gets it from `next`. Contract: leaving it stops the tool; what is not read is read at the end. */
class LentStream implements Sink<Chunk> {
  readonly stream: PipeStream<Chunk>
  readonly #source: AsyncIterable<Chunk>
  #reader: Sink<Chunk> | undefined
  #reading: Promise<void> | undefined
  /** Ends the wait for a reader that does not come back. */
  #release: (() => void) | undefined

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source
    this.stream = stream((sink) => this.#read(sink))
  }

  /** Reads what the wrap has not read, and shows it to nobody. */
  async finish(): Promise<void> {
    if (this.closed) return
    const reading = this.#reading ?? this.#read(NOBODY)
    this.#reader = NOBODY
    this.#release?.()
    try {
      await reading
    } catch (error) {
      if (isHandlerError(error)) throw error
      // Otherwise the result of the call says what went wrong.
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

const NOBODY: Sink<unknown> = { write: () => undefined }

/** What a wrap calls as `next`: the stream that it gets is lent. */
export function lending(next: StreamTool): StreamTool {
  return async (ctx, input) => {
    const call = await next(ctx, input)
    const lent = new LentStream(call.stream)
    ctx.get(LENT)?.push(lent)
    return { stream: lent.stream, result: call.result }
  }
}

/** A context for a wrap, and what makes of its own stream one that ends when all that was lent to it has ended. */
export function borrowing(ctx: RunContext): {
  readonly ctx: RunContext
  whole(chunks: AsyncIterable<Chunk>): PipeStream<Chunk>
} {
  const lent: LentStream[] = []
  return {
    ctx: ctx.with(LENT, lent),
    whole: (chunks) =>
      stream(async (sink) => {
        await pipe(chunks, sink)
        for (const one of lent) await one.finish()
      }),
  }
}
