import { type Clock, KernelError } from '@troupe/kernel'
import { withinTime } from '@troupe/kernel/kit'
import type { Logged } from '../log/logged.ts'
import { unencodable } from '../translate/run-error.ts'
import type { Encoding } from './encoding.ts'

/** The most that is passed to a socket at once; a single event may be larger. */
const CHUNK_BYTES = 65_536
/** How long events are kept in memory for a reader; after that they are read from the log again. */
const HELD_MS = 250

/** The options of an event stream. */
interface EventStreamOptions {
  /** The last sequence that the reader has. */
  readonly after: number
  /** Sent before the events of the log, in pieces that are read when the reader has room. */
  readonly lead?: AsyncIterator<string | Uint8Array>
  /** Follows the log from a sequence until the signal aborts. */
  readonly follow: (after: number, signal: AbortSignal) => AsyncIterator<readonly Logged[]>
  readonly runId: string
  readonly encoding: Encoding
  readonly clock: Clock
  readonly requestId: string
  readonly keepAliveMs: number
  readonly drainMs: number
  /** Called once when the stream ends for any reason. Contract: `gone` is true if the reader left before the end. */
  readonly onEnd: (gone: boolean) => void
  readonly report: (error: KernelError) => void
}

/**
 * The body of a response: one reader of a run.
 * Contract: pulled one chunk at a time; a reader holds one chunk and, briefly, one batch in memory; a reader that takes nothing for `drainMs` is dropped.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = new EventReader(options)
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => reader.watch(controller),
      pull: (controller) => reader.pull(controller),
      cancel: () => reader.end(true),
    },
    { highWaterMark: 0 },
  )
}

type Controller = ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>

class EventReader {
  readonly #options: EventStreamOptions
  #after: number
  #batch: readonly Logged[] = []
  #at = 0
  #batches: AsyncIterator<readonly Logged[]> | undefined
  #next: Promise<IteratorResult<readonly Logged[]>> | undefined
  #following: AbortController | undefined
  #timers: (() => void)[] = []
  #lead: AsyncIterator<string | Uint8Array> | undefined
  #over = false

  constructor(options: EventStreamOptions) {
    this.#options = options
    this.#after = options.after
    this.#lead = options.lead
  }

  async pull(controller: Controller): Promise<void> {
    this.#unwatch()
    try {
      const bytes = (this.#lead && (await this.#leadChunk(this.#lead))) ?? (await this.#nextChunk())
      if (this.#over) return
      if (bytes) {
        controller.enqueue(bytes)
        return this.watch(controller)
      }
      this.end(false)
      controller.close()
    } catch (error) {
      if (!this.#over) this.#fail(error, controller)
    }
  }

  /** The next bytes, or a keep-alive if nothing comes for a while; undefined at the end. */
  async #nextChunk(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      while (this.#at < this.#batch.length) {
        const bytes = this.#chunk()
        if (bytes.length > 0) return bytes
      }
      const result = await this.#soon()
      if (this.#over) return undefined
      if (!result) return this.#options.encoding.keepAlive
      this.#next = undefined
      if (result.done) return undefined
      this.#batch = result.value
      this.#at = 0
    }
  }

  /** The next bytes of the lead; undefined at its end. */
  async #leadChunk(lead: AsyncIterator<string | Uint8Array>): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const parts: (string | Uint8Array)[] = []
    for (let size = 0; size < CHUNK_BYTES && !this.#over; ) {
      const { done, value } = await lead.next()
      if (done) {
        this.#lead = undefined
        break
      }
      parts.push(value)
      size += value.length
    }
    return parts.length > 0 || this.#over ? bytesOf(parts) : undefined
  }

  /** Starts the timers for a reader that does not pull. */
  watch(controller: Controller): void {
    const { clock, drainMs } = this.#options
    const stalled = () => {
      this.end(false)
      controller.error(new KernelError('READER_STALLED', `stream: the reader took nothing for ${drainMs} ms`))
    }
    this.#timers = [clock.after(HELD_MS, () => this.#release(), false), clock.after(drainMs, stalled, false)]
  }

  end(gone: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#unwatch()
    this.#release()
    this.#lead?.return?.().catch(() => undefined)
    this.#options.onEnd(gone)
  }

  /** The next batch; undefined if a keep-alive is due before it comes. */
  #soon(): Promise<IteratorResult<readonly Logged[]> | undefined> {
    const { encoding, clock, keepAliveMs } = this.#options
    const next = this.#read()
    return encoding.keepAlive ? withinTime(clock, keepAliveMs, next, () => undefined) : next
  }

  #read(): Promise<IteratorResult<readonly Logged[]>> {
    if (!this.#batches) {
      this.#following = new AbortController()
      this.#batches = this.#options.follow(this.#after, this.#following.signal)
    }
    this.#next ??= this.#batches.next()
    return this.#next
  }

  #chunk(): Uint8Array<ArrayBuffer> {
    const { encoding, runId } = this.#options
    const [bytes, count] = chunkOf(this.#batch, this.#at, encoding, runId)
    this.#at += count
    this.#after = this.#batch[this.#at - 1]?.seq ?? this.#after
    return bytes
  }

  /** Drops all events in memory; the next pull follows again from the current position. */
  #release(): void {
    this.#following?.abort(new KernelError('ABORTED', 'stream: the reader has paused or left'))
    this.#next?.catch(() => undefined)
    this.#batches?.return?.().catch(() => undefined)
    this.#batches = undefined
    this.#next = undefined
    this.#batch = []
    this.#at = 0
  }

  #unwatch(): void {
    for (const cancel of this.#timers) cancel()
  }

  #fail(error: unknown, controller: Controller): void {
    const { report, encoding, requestId } = this.#options
    this.end(false)
    report(KernelError.from(error))
    if (KernelError.is(error, 'ENCODING_ERROR')) {
      controller.enqueue(bytesOf([encoding.aside(unencodable(requestId))]))
      controller.close()
    } else controller.error(error)
  }
}

/** As much of a batch as fits a chunk, and how many events that is. */
function chunkOf(
  batch: readonly Logged[],
  from: number,
  encoding: Encoding,
  runId: string,
): [Uint8Array<ArrayBuffer>, number] {
  const parts: (string | Uint8Array)[] = []
  let size = 0
  let at = from
  try {
    for (; at < batch.length && size < CHUNK_BYTES; at++) {
      const part = encoding.encode(batch[at] as Logged, runId)
      if (part === undefined) continue
      parts.push(part)
      size += part.length
    }
  } catch (error) {
    // Send the events before it first; the next pull meets the error again.
    if (parts.length === 0) throw error
  }
  return [bytesOf(parts), at - from]
}

const TEXT = new TextEncoder()

function bytesOf(parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  if (parts.every((part) => typeof part === 'string')) return TEXT.encode(parts.join(''))
  const all = parts.map((part) => (typeof part === 'string' ? TEXT.encode(part) : part))
  const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of all) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
