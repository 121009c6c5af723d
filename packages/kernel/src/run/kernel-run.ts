import type { AgentEvent, RunResult } from '../data/event.ts'
import { KernelError } from '../data/kernel-error.ts'
import type { RunCore } from '../engine/run-core.ts'
import { Channel } from '../stream/channel.ts'
import type { Sink } from '../stream/sink.ts'
import { PIPE, type PipeStream } from '../stream/stream.ts'
import type { Run } from './run.ts'
import { RunExecution, type RunParts, type Settled } from './run-execution.ts'

/** Makes a run. */
export function kernelRun<Output>(parts: RunParts): Run<Output> & PipeStream<AgentEvent> {
  return new KernelRun(parts)
}

/** A run as its consumer sees it; it begins when it is first read or awaited. */
class KernelRun<Output> implements Run<Output>, PipeStream<AgentEvent> {
  readonly runId: string
  readonly #core: RunCore
  readonly #execution: RunExecution
  /** Never rejects, so it need not be awaited. */
  readonly #settled: PromiseWithResolvers<Settled> = Promise.withResolvers()
  #taken = false
  #started = false

  constructor(parts: RunParts) {
    this.runId = parts.core.runId
    this.#core = parts.core
    this.#execution = new RunExecution(parts)
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    return this.#channel((sink) => this.#deliver(sink))
  }

  async [PIPE](sink: Sink<AgentEvent>): Promise<void> {
    this.#take()
    await this.#deliver(sink)
  }

  eventsWithoutThrowing(): PipeStream<AgentEvent> {
    const deliver = async (sink: Sink<AgentEvent>) => void (await this.#execute(sink))
    return {
      [Symbol.asyncIterator]: () => this.#channel(deliver),
      [PIPE]: async (sink) => {
        this.#take()
        await deliver(sink)
      },
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited for its result
  then<A = RunResult<Output>, B = never>(
    onResult?: ((result: RunResult<Output>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#taken) queueMicrotask(() => this.#drain())
    return this.#settled.promise.then((settled) => {
      let result: RunResult<Output>
      try {
        result = this.#unwrap(settled)
      } catch (error) {
        if (onError) return onError(error)
        throw error
      }
      return onResult ? onResult(result) : (result as A)
    })
  }

  catch<A = never>(onError?: ((error: unknown) => A | PromiseLike<A>) | null): Promise<RunResult<Output> | A> {
    return this.then(undefined, onError)
  }

  finally(onSettled?: (() => void) | null): Promise<RunResult<Output>> {
    return this.then().finally(onSettled)
  }

  #channel(deliver: (sink: Sink<AgentEvent>) => Promise<void>): Channel<AgentEvent> {
    this.#take()
    return new Channel(deliver, { onLeave: () => this.#leave() })
  }

  /** Contract: starts one tick after the first `then`, so that `run.catch(log)` leaves the events to a loop that follows it. */
  #drain(): void {
    if (this.#taken) return
    this.#taken = true
    this.#execute(DISCARD)
  }

  #take(): void {
    if (this.#taken) {
      throw new KernelError(
        'STREAM_CONSUMED',
        `run ${this.runId}: can be read once, and awaiting it reads it; loop over the run first, then await it`,
      )
    }
    this.#taken = true
  }

  async #leave(): Promise<void> {
    const error = new KernelError('ABORTED', `run ${this.runId}: the consumer has left`)
    this.#core.consumerLeft = true
    this.#core.abortState.abort(error)
    if (!this.#started) this.#settled.resolve({ error })
    await this.#settled.promise
  }

  async #deliver(out: Sink<AgentEvent>): Promise<void> {
    this.#unwrap(await this.#execute(out))
  }

  #execute(out: Sink<AgentEvent>): Promise<Settled> {
    this.#started = true
    return this.#execution.execute(out, this.#settled.resolve)
  }

  #unwrap(settled: Settled): RunResult<Output> {
    if ('error' in settled) throw settled.error
    const { result } = settled
    if (result.outcome === 'failed' || result.outcome === 'cancelled') throw this.#core.errors.errorOf(result.error)
    return result as RunResult<Output>
  }
}

const DISCARD: Sink<unknown> = { write: () => undefined }
