import { WholeFrames } from './whole-frames.ts'

interface Connection {
  /** The id is set when the first whole event has named it. */
  readonly run: { runId: string | undefined }
  readonly body: ReadableStream<Uint8Array> | null
  readonly signal: AbortSignal | null | undefined
  /** How often in a row a connection may end before the stream does. */
  readonly attempts: number
  /** Connects again after the last sequence that was read. */
  readonly reconnect: (after: number) => Promise<Response>
  readonly onEnd: () => void
}

/**
 * A stream of events that continues over new connections.
 * Contract: passes on whole events, each once; ends after the terminal of the run, or with a RUN_ERROR `CONNECTION_LOST`; an abort fails it.
 */
export function continuedBody(connection: Connection): ReadableStream<Uint8Array> {
  const body = new ContinuedBody(connection)
  return new ReadableStream<Uint8Array>(
    { pull: (controller) => body.pull(controller), cancel: (reason) => body.cancel(reason) },
    { highWaterMark: 0 },
  )
}

const LOST = {
  type: 'RUN_ERROR',
  code: 'CONNECTION_LOST',
  message: 'The connection was lost. The run may still be active.',
}

const TEXT = new TextEncoder()

class ContinuedBody {
  readonly #connection: Connection
  readonly #frames = new WholeFrames()
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #failures = 0

  constructor(connection: Connection) {
    this.#connection = connection
    this.#reader = connection.body?.getReader()
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { onEnd, signal } = this.#connection
    try {
      const frames = await this.#nextFrames()
      if (frames !== undefined) return controller.enqueue(TEXT.encode(frames))
      onEnd()
    } catch (error) {
      onEnd()
      if (signal?.aborted) return controller.error(error)
      // Sent as an event, not thrown: the official client leaves the error of a body unhandled, which ends a Node process.
      controller.enqueue(TEXT.encode(`data: ${JSON.stringify(LOST)}\n\n`))
    }
    controller.close()
  }

  cancel(reason: unknown): Promise<void> | undefined {
    this.#connection.onEnd()
    return this.#reader?.cancel(reason)
  }

  /** The next whole frames, over as many connections as it takes; undefined at the end of the run. */
  async #nextFrames(): Promise<string | undefined> {
    for (;;) {
      const chunk = await this.#read()
      const frames = chunk?.value ? this.#frames.push(chunk.value) : ''
      if (frames !== '') {
        this.#failures = 0
        // A server may answer with a run that the client began before.
        this.#connection.run.runId = this.#position?.runId ?? this.#connection.run.runId
        return frames
      }
      if (chunk && !chunk.done) continue
      // Without an id there is no run to reconnect to: the stream is complete.
      if (this.#frames.ended || (chunk && this.#connection.run.runId === undefined)) return undefined
      if (chunk) this.#count(new Error('The stream ended before its run.'))
      await this.#reconnect()
    }
  }

  /** Reads from the connection; undefined if it is broken. */
  async #read(): Promise<{ readonly value?: Uint8Array | undefined; readonly done: boolean } | undefined> {
    try {
      return await this.#reader?.read()
    } catch (error) {
      if (this.#connection.signal?.aborted) throw error
      this.#count(error)
      return undefined
    }
  }

  /** Counts a connection that ended too early. Contract: throws its error if there were too many in a row. */
  #count(error: unknown): void {
    if (this.#failures++ >= this.#connection.attempts) throw error
  }

  async #reconnect(): Promise<void> {
    this.#reader?.cancel().catch(() => undefined)
    this.#frames.reset()
    const next = await this.#connection.reconnect(this.#position?.seq ?? 0)
    if (!next.ok) throw new Error(`The run can no longer be followed: HTTP ${next.status}`)
    this.#reader = next.body?.getReader()
  }

  /** The run and the sequence of the last whole frame that named them. */
  get #position(): { readonly runId: string; readonly seq: number } | undefined {
    const { lastId } = this.#frames
    const cut = lastId?.lastIndexOf(':') ?? -1
    return lastId === undefined ? undefined : { runId: lastId.slice(0, cut), seq: Number(lastId.slice(cut + 1)) }
  }
}
