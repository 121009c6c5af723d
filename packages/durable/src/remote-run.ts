import {
  type AgentEvent,
  KernelError,
  type Message,
  type PipeStream,
  type Run,
  type RunResult,
  type Sink,
  stream,
} from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { pipe } from '@troupe/kernel/kit'

/** Where a remote run is carried out. */
export interface RemoteParts {
  readonly runId: string
  /** Orders the run, or finds it. Contract: throws the reason of a run that never began. */
  begin(): Promise<void>
  /** Its events, in order, from the first that is to be shown; ends after the run's own `run-end`. */
  events(): AsyncIterable<AgentEvent>
  /** Asks it to stop, because its consumer has left. */
  stop(): Promise<void>
}

/** A run that another process carries out, as its consumer sees it; it is ordered when it is first read or awaited. */
export class RemoteRun<Output> implements Run<Output> {
  readonly runId: string
  readonly #parts: RemoteParts
  readonly #settled: PromiseWithResolvers<RunResult<Output>> = Promise.withResolvers()
  readonly #messages: Message[] = []
  #taken = false
  #left = false

  constructor(parts: RemoteParts) {
    this.runId = parts.runId
    this.#parts = parts
    this.#settled.promise.catch(() => undefined)
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    return this.#stream(true)[Symbol.asyncIterator]() as AsyncIterator<AgentEvent, undefined>
  }

  eventsWithoutThrowing(): PipeStream<AgentEvent> {
    return this.#stream(false)
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited for its result
  then<A = RunResult<Output>, B = never>(
    onResult?: ((result: RunResult<Output>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#taken) queueMicrotask(() => this.#drain())
    return this.#settled.promise.then(onResult, onError)
  }

  catch<A = never>(onError?: ((error: unknown) => A | PromiseLike<A>) | null): Promise<RunResult<Output> | A> {
    return this.then(undefined, onError)
  }

  finally(onSettled?: (() => void) | null): Promise<RunResult<Output>> {
    return this.then().finally(onSettled)
  }

  /** Contract: starts one tick after the first `then`, so that `run.catch(log)` leaves the events to a loop that follows it. */
  #drain(): void {
    if (!this.#taken) void pipe(this.#stream(false), { write: () => undefined })
  }

  #stream(throws: boolean): PipeStream<AgentEvent> {
    if (this.#taken) {
      throw new KernelError(
        'STREAM_CONSUMED',
        `run ${this.runId}: can be read once, and awaiting it reads it; loop over the run first, then await it`,
      )
    }
    this.#taken = true
    const produce = async (sink: Sink<AgentEvent>) => {
      await this.#read(sink)
      if (throws) await this.#settled.promise
    }
    return stream(produce, { onLeave: () => this.#leave() })
  }

  async #read(sink: Sink<AgentEvent>): Promise<void> {
    try {
      await this.#parts.begin()
      for await (const event of this.#parts.events()) {
        if (this.#left) return
        this.#note(event)
        const wait = sink.write(event)
        if (wait) await wait
      }
      this.#settled.reject(new KernelError('ABORTED', `run ${this.runId}: is not followed any more`))
    } catch (error) {
      this.#settled.reject(error)
    }
  }

  #note(event: AgentEvent): void {
    if (event.runId !== this.runId) return
    const message = messageOf(event)
    if (message) this.#messages.push(message)
    if (event.type !== 'run-end') return
    const { type: _1, runId: _2, agentName: _3, runPath: _4, ...end } = event
    const failed = end.outcome === 'failed' || end.outcome === 'cancelled'
    if (failed) this.#settled.reject(KernelError.from(end.error ?? new KernelError('ABORTED', 'run: cancelled')))
    else this.#settled.resolve({ ...end, messages: this.#messages } as unknown as RunResult<Output>)
  }

  async #leave(): Promise<void> {
    this.#left = true
    this.#settled.reject(new KernelError('ABORTED', `run ${this.runId}: the consumer has left`))
    await this.#parts.stop()
  }
}
