import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { RunContext } from '../context/context.ts'
import type { AgentEvent, EventStamp, RunEnd, RunResult } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import { KernelError } from '../data/kernel-error.ts'
import { internals, type KernelContext } from '../engine/kernel-context.ts'
import type { RunCore } from '../engine/run-core.ts'
import { safeReport } from '../kit/safe-report.ts'
import { Channel } from '../stream/channel.ts'
import type { Sink } from '../stream/sink.ts'
import { PIPE, type PipeStream, pipe, stream } from '../stream/stream.ts'
import { observe } from './observe.ts'
import type { Run, RunHost, RunSettings } from './run.ts'
import { RunRecorder } from './run-recorder.ts'

type MakeContext = (state: JsonObject | undefined) => RunContext

/** Creates the run of an agent; `context` gets the state that the host has loaded. */
export function kernelRun<Output>(
  agent: Agent<Output>,
  start: AgentInput | ResumeInfo,
  core: RunCore,
  options: RunSettings & RunHost,
  runPath: readonly string[],
  context: MakeContext,
): Run<Output> & PipeStream<AgentEvent> {
  return new KernelRun(agent, start, core, options, runPath, context)
}

/** Time limit for a host to end its work after an abort, and to close. */
const HOST_MS = 10_000

type Settled = { readonly result: RunResult<Json> } | { readonly error: unknown }

/** A run; it begins when it is first read or awaited. */
class KernelRun<Output> implements Run<Output>, PipeStream<AgentEvent> {
  readonly runId: string
  readonly #agent: Agent<Output>
  readonly #start: AgentInput | ResumeInfo
  readonly #core: RunCore
  readonly #options: RunSettings & RunHost
  readonly #context: MakeContext
  readonly #stamp: EventStamp
  /** Never rejects, so it need not be awaited. */
  readonly #settled: PromiseWithResolvers<Settled> = Promise.withResolvers()
  /** Whether an abort stopped an agent that runs under a host. */
  #stoppedByAbort = false
  #taken = false
  #started = false

  constructor(
    agent: Agent<Output>,
    start: AgentInput | ResumeInfo,
    core: RunCore,
    options: RunSettings & RunHost,
    runPath: readonly string[],
    context: MakeContext,
  ) {
    this.runId = core.runId
    this.#agent = agent
    this.#start = start
    this.#core = core
    this.#options = options
    this.#context = context
    this.#stamp = core.ids.stamp(agent.name, runPath)
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

  #channel(deliver: (sink: Sink<AgentEvent>) => Promise<void>): Channel<AgentEvent> {
    this.#take()
    return new Channel(deliver, { onLeave: () => this.#leave() })
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

  /** Contract: starts one tick after the first `then`, so that `run.catch(log)` leaves the events to a loop that follows it. */
  #drain(): void {
    if (this.#taken) return
    this.#taken = true
    this.#execute(DISCARD)
  }

  catch<A = never>(onError?: ((error: unknown) => A | PromiseLike<A>) | null): Promise<RunResult<Output> | A> {
    return this.then(undefined, onError)
  }

  finally(onSettled?: (() => void) | null): Promise<RunResult<Output>> {
    return this.then().finally(onSettled)
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

  /** Contract: never rejects. */
  async #execute(out: Sink<AgentEvent>): Promise<Settled> {
    this.#started = true
    const { signal } = this.#options
    let unfollow: (() => void) | undefined
    let cancelTimer: (() => void) | undefined
    try {
      unfollow = signal && this.#core.abortState.follow(signal)
      cancelTimer = this.#limit()
      const opened = this.#options.open && (await this.#open(this.#options.open))
      const { result, end } = await this.#record(out, opened?.state)
      if (opened) await this.#close(opened)
      cancelTimer?.()
      unfollow?.()
      const settled = { result }
      this.#settled.resolve(settled)
      const wait = this.#core.consumerLeft ? undefined : out.write(end)
      if (wait) await wait.catch(() => undefined)
      return settled
    } catch (error) {
      const settled = { error }
      this.#settled.resolve(settled)
      return settled
    } finally {
      cancelTimer?.()
      unfollow?.()
    }
  }

  #limit(): (() => void) | undefined {
    const { timeoutMs } = this.#options
    if (timeoutMs === undefined) return undefined
    return this.#core.clock.after(timeoutMs, () =>
      this.#core.abortState.abort(
        new KernelError('TIMEOUT', `run ${this.runId}: exceeded its time limit of ${timeoutMs} ms`),
      ),
    )
  }

  async #open(open: NonNullable<RunHost['open']>): Promise<Awaited<ReturnType<typeof open>>> {
    const opening = open.call(this.#options, this.#core.abortState)
    try {
      return await this.#core.abortState.settle(opening)
    } catch (error) {
      opening.then((late) => late.close()).catch(() => undefined)
      throw KernelError.is(error) ? error : (this.#core.abortState.error ?? error)
    }
  }

  /** Contract: a host that fails to close is reported and delays the run by no more than its time limit. */
  #close(opened: { close(): Promise<void> }): Promise<void> {
    return new Promise((resolve) => {
      const fail = (cause: unknown) => {
        this.#report(cause)
        done()
      }
      const giveUp = () =>
        fail(new KernelError('TIMEOUT', `run ${this.runId}: the host did not close within ${HOST_MS} ms`))
      const cancel = this.#core.clock.after(HOST_MS, giveUp)
      const done = () => {
        cancel()
        resolve()
      }
      try {
        opened.close().then(done, fail)
      } catch (cause) {
        fail(cause)
      }
    })
  }

  #report(cause: unknown): void {
    safeReport(this.#options.report)(KernelError.from(cause))
  }

  async #record(
    out: Sink<AgentEvent>,
    state: JsonObject | undefined,
  ): Promise<{ result: RunResult<Json>; end: RunEnd }> {
    const core = this.#core
    const recorder = new RunRecorder(core, out)
    const span = core.spans?.open('run', this.#agent.name, 'run', this.#start)
    let thrown: { readonly error: unknown } | undefined
    try {
      const wait = recorder.begin(this.#stamp)
      if (wait) await wait
      core.abortState.throwIfAborted()
      await this.#drive(recorder, internals(this.#context(state)))
      if (this.#stoppedByAbort && !recorder.hasOutcome) thrown = { error: core.abortState.error }
    } catch (error) {
      if (recorder.failed || core.abortState.hides(error)) this.#report(error)
      if (!recorder.failed) thrown = { error }
    }
    const nested = core.endNested()
    if (nested) await nested
    const result = recorder.finish(thrown, this.#stamp)
    // Each message had an event of its own.
    const { messages: _, ...rest } = result
    const end: RunEnd = { type: 'run-end', ...this.#stamp, ...rest }
    core.spans?.part(end)
    if (result.outcome === 'failed') span?.fail(result.error)
    else span?.end(result)
    if (core.outer) core.outer.addUsage(result.usage)
    else core.listeners?.close()
    return { result, end }
  }

  #unwrap(settled: Settled): RunResult<Output> {
    if ('error' in settled) throw settled.error
    const { result } = settled
    if (result.outcome === 'failed' || result.outcome === 'cancelled') throw this.#core.errors.errorOf(result.error)
    return result as RunResult<Output>
  }

  #drive(recorder: RunRecorder, ctx: KernelContext): Promise<void> {
    const core = this.#core
    core.state = ctx.fields.state
    const next = (start: AgentInput | ResumeInfo) => {
      core.ids.history = start.messages
      recorder.expect(start.messages)
      return observe(this.#agent, start, ctx)
    }
    const { around } = this.#options
    if (!around) return core.abortState.settle(pipe(next(this.#start), recorder))
    const source = around.call(this.#options, ctx, (start) => this.#graceful(next(start)))
    return core.abortState.settle(pipe(source, recorder), HOST_MS)
  }

  /** Ends an agent soon after an abort, so that its host can still save the events so far. */
  #graceful(source: AsyncIterable<AgentEvent>): PipeStream<AgentEvent> {
    return stream(async (sink) => {
      try {
        await this.#core.abortState.settle(pipe(source, sink))
      } catch (error) {
        if (!this.#core.abortState.aborted) throw error
        this.#stoppedByAbort = true
        this.#core.closeOpenEnds()
      }
    })
  }
}

const DISCARD: Sink<unknown> = { write: () => undefined }
