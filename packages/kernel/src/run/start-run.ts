import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import { systemClock } from '../context/clock.ts'
import type { RunContext } from '../context/context.ts'
import { internals, KernelContext } from '../context/kernel-context.ts'
import { TrackedState } from '../context/state.ts'
import { got, isObject, KernelError } from '../data/error.ts'
import type { AgentEvent, EventStamp, RunEnd, RunResult } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import { Channel } from '../stream/channel.ts'
import { PIPE, type PipeStream, pipe, type Sink } from '../stream/stream.ts'
import { Listeners, report, reportToConsole } from './listeners.ts'
import { checkAgent, observe } from './observe.ts'
import type { Run, RunHost, RunSettings } from './run.ts'
import { RunCore } from './run-core.ts'
import { RunRecorder } from './run-recorder.ts'

/**
 * Runs an agent: `run-start`, its events, exactly one `run-end`.
 * @example for await (const event of startRun(agent, { messages })) console.log(event.type)
 */
export function startRun<Output>(
  agent: Agent<Output>,
  start: AgentInput | ResumeInfo,
  options: RunSettings & RunHost = {},
): Run<Output> {
  const core = createCore(options)
  return new KernelRun<Output>(agent, start, core, options, [], (state) =>
    rootContext(core, agent.name, state, options),
  )
}

/**
 * Makes a context for standalone use: a tool or handler under test, an agent called by hand.
 * @example await tool.invoke({ city: 'Beijing' }, createRunContext(), call)
 */
export function createRunContext(settings: RunSettings = {}): RunContext {
  const ctx = rootContext(createCore(settings), '', undefined, settings)
  return settings.signal ? ctx.derive({ signal: settings.signal }) : ctx
}

function createCore(settings: RunSettings & RunHost): RunCore {
  const { callbacks = [], clock = systemClock, report = reportToConsole, canInterrupt = false } = settings
  // biome-ignore lint/plugin: a root run's id is where replay begins; everything in it is named after it
  const runId = settings.runId ?? crypto.randomUUID()
  if (typeof runId !== 'string' || runId === '') {
    throw new KernelError('CONFIG_INVALID', `startRun: runId is a non-empty string, ${got(runId)}`)
  }
  return new RunCore({
    runId,
    session: settings.session ?? { app: 'standalone', user: 'standalone', threadId: runId },
    clock,
    listeners: callbacks.length > 0 ? new Listeners(callbacks, clock, report) : undefined,
    canInterrupt,
    cancelling: settings.cancelling?.bind(settings),
    depth: 0,
    parent: undefined,
  })
}

function rootContext(
  core: RunCore,
  agentName: string,
  state: JsonObject | undefined,
  settings: RunSettings,
): RunContext {
  const ctx = new KernelContext(core, {
    agentName,
    runPath: [],
    step: '',
    state: new TrackedState(new Map(Object.entries(state ?? settings.state ?? {}))),
    signal: undefined,
    values: undefined,
    scope: undefined,
    agent: undefined,
  })
  return settings.prepare ? settings.prepare(ctx) : ctx
}

/** Runs an agent inside another run, on a core and in a context that are there already. */
export function startNested<Output>(
  agent: Agent<Output>,
  start: AgentInput | ResumeInfo,
  ctx: KernelContext,
  options: RunSettings & RunHost,
): Run<Output> {
  return new KernelRun<Output>(agent, start, ctx.core, options, ctx.runPath, () => ctx)
}

type Settled = { readonly result: RunResult<Json> } | { readonly error: unknown }

const CLOSE_MS = 10_000

/** A run, not begun before somebody reads or awaits it. */
class KernelRun<Output> implements Run<Output>, PipeStream<AgentEvent> {
  readonly runId: string
  readonly #agent: Agent<Output>
  readonly #start: AgentInput | ResumeInfo
  readonly #core: RunCore
  readonly #options: RunSettings & RunHost
  readonly #context: (state: JsonObject | undefined) => RunContext
  readonly #stamp: EventStamp
  /** Never rejects, so that nobody has to await it. */
  readonly #settled: PromiseWithResolvers<Settled> = Promise.withResolvers()
  #taken = false
  #started = false

  constructor(
    agent: Agent<Output>,
    start: AgentInput | ResumeInfo,
    core: RunCore,
    options: RunSettings & RunHost,
    runPath: readonly string[],
    context: (state: JsonObject | undefined) => RunContext,
  ) {
    checkAgent(agent)
    if (!isObject(start) || !Array.isArray(start.messages)) {
      throw new KernelError('CONFIG_INVALID', `run of ${agent.name}: expected { messages: [...] }, ${got(start)}`)
    }
    this.runId = core.runId
    this.#agent = agent
    this.#start = start
    this.#core = core
    this.#options = options
    this.#context = context
    this.#stamp = core.stamp(agent.name, runPath)
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    this.#take()
    return new Channel<AgentEvent>(
      (sink) => this.#execute(sink),
      () => this.#leave(),
    )
  }

  async [PIPE](sink: Sink<AgentEvent>): Promise<void> {
    this.#take()
    await this.#execute(sink)
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is awaited for its result
  then<A = RunResult<Output>, B = never>(
    onResult?: ((result: RunResult<Output>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#taken) {
      this.#taken = true
      this.#execute(NOBODY).catch(() => undefined)
    }
    return this.#settled.promise.then((settled) => this.#unwrap(settled)).then(onResult, onError)
  }

  #take(): void {
    if (this.#taken) {
      throw new KernelError('STREAM_CONSUMED', `run ${this.runId}: can be read once, and awaiting it reads it`)
    }
    this.#taken = true
  }

  async #leave(): Promise<void> {
    const error = new KernelError('ABORTED', `run ${this.runId}: the consumer has left`)
    this.#core.left = true
    this.#core.abort(error)
    if (!this.#started) this.#settled.resolve({ error })
    await this.#settled.promise
  }

  async #execute(out: Sink<AgentEvent>): Promise<void> {
    this.#started = true
    const { signal } = this.#options
    const unfollow = signal && this.#core.follow(signal)
    try {
      const opened = this.#options.open && (await this.#open(this.#options.open))
      const { result, end } = await this.#record(out, opened?.state)
      if (opened) await this.#close(opened)
      this.#settled.resolve({ result })
      if (this.#core.left) return
      const wait = out.write(end)
      if (wait) await wait.catch(() => undefined)
    } catch (error) {
      this.#settled.resolve({ error })
      throw error
    } finally {
      unfollow?.()
    }
  }

  async #open(open: NonNullable<RunHost['open']>): Promise<Awaited<ReturnType<typeof open>>> {
    const opening = open.call(this.#options, this.#core.signal)
    try {
      return await this.#core.settle(opening)
    } catch (error) {
      opening.then((late) => late.close()).catch(() => undefined)
      throw error
    }
  }

  /** Contract: a host that cannot let go is reported, and holds nothing up for longer than its limit. */
  async #close(opened: { close(): Promise<void> }): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const cancel = this.#core.clock.after(CLOSE_MS, () =>
      reject(new KernelError('TIMEOUT', `run ${this.runId}: the host did not close within ${CLOSE_MS} ms`)),
    )
    try {
      await Promise.race([opened.close(), late])
    } catch (cause) {
      this.#report(cause)
    }
    cancel()
  }

  #report(cause: unknown): void {
    report(this.#options.report ?? reportToConsole, KernelError.from(cause))
  }

  async #record(
    out: Sink<AgentEvent>,
    state: JsonObject | undefined,
  ): Promise<{ result: RunResult<Json>; end: RunEnd }> {
    const core = this.#core
    const recorder = new RunRecorder(core, out, this.#start.messages)
    const span = core.openSpan('run', this.#agent.name, 'run', this.#start)
    let thrown: { readonly error: unknown } | undefined
    try {
      const wait = recorder.begin(this.#stamp)
      if (wait) await wait
      if (!core.aborted) await core.settle(pipe(this.#source(state), recorder))
      else thrown = { error: undefined }
    } catch (error) {
      if (recorder.failed) this.#report(error)
      else thrown = { error }
    }
    const result = recorder.finish(thrown, this.#stamp)
    const end: RunEnd = { type: 'run-end', ...this.#stamp, ...result }
    core.part(end)
    if (result.outcome === 'failed') span?.fail(result.error)
    else span?.end(result)
    if (core.parent) core.parent.core.addUsage(result.usage)
    else core.listeners?.close()
    return { result, end }
  }

  #unwrap(settled: Settled): RunResult<Output> {
    if ('error' in settled) throw settled.error
    const { result } = settled
    if (result.outcome === 'failed' || result.outcome === 'cancelled') throw this.#core.failureOf(result.error)
    return result as RunResult<Output>
  }

  #source(state: JsonObject | undefined): AsyncIterable<AgentEvent> {
    const ctx = internals(this.#context(state))
    const next = (start: AgentInput | ResumeInfo) => observe(this.#agent, start, ctx)
    return this.#options.around ? this.#options.around(ctx, next) : next(this.#start)
  }
}

const NOBODY: Sink<unknown> = { write: () => undefined }
