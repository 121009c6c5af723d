import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { RunContext } from '../context/context.ts'
import type { AgentEvent, EventOf, EventStamp, RunResult } from '../data/event.ts'
import type { Json, JsonObject } from '../data/json.ts'
import { KernelError } from '../data/kernel-error.ts'
import { internals, type KernelContext } from '../engine/kernel-context.ts'
import type { RunCore } from '../engine/run-core.ts'
import { safeReport } from '../kit/safe-report.ts'
import { withinTime } from '../kit/within-time.ts'
import { type Sink, sinkTo } from '../stream/sink.ts'
import { pipe, stream } from '../stream/stream.ts'
import { observe } from './observe.ts'
import type { RunSettings } from './run.ts'
import type { RunHost } from './run-host.ts'
import { RunRecorder } from './run-recorder.ts'

/** Time limit for a host to end its work after an abort, and to close. */
const HOST_MS = 10_000

/** The end of a run: its result, or the error that kept it from beginning. */
export type Settled = { readonly result: RunResult<Json> } | { readonly error: unknown }

/** Everything that a run is made of. */
export interface RunParts {
  readonly agent: Agent
  readonly start: AgentInput | ResumeInfo
  readonly core: RunCore
  readonly settings: Pick<RunSettings, 'signal' | 'timeoutMs' | 'report'>
  readonly host: RunHost
  /** Makes the context with the state that the host has loaded. */
  readonly context: (state: JsonObject | undefined) => RunContext
}

/** Carries out one run: opens its host, runs its agent between `run-start` and `run-end`, and closes its host. */
export class RunExecution {
  readonly #parts: RunParts
  readonly #stamp: EventStamp
  #cancelLimit: (() => void) | undefined
  /** Whether an abort stopped an agent that runs under a host. */
  #stoppedByAbort = false

  constructor(parts: RunParts) {
    this.#parts = parts
    this.#stamp = parts.core.ids.stamp(parts.agent.name, parts.core.runPath)
  }

  /** Contract: never rejects; `onSettled` is called before the last event is written. */
  async execute(consumer: Sink<AgentEvent>, onSettled: (settled: Settled) => void): Promise<Settled> {
    const { core, settings, host } = this.#parts
    const out = host.shows ? partly(consumer, (event) => host.shows?.(event)) : consumer
    let unfollow: (() => void) | undefined
    const release = () => {
      this.#cancelLimit?.()
      unfollow?.()
    }
    let settled: Settled
    try {
      unfollow = settings.signal && core.abortState.follow(settings.signal)
      this.#limit(host.queueMs)
      const opened = host.open && (await this.#open())
      core.attempt = opened?.attempt ?? core.attempt
      core.kept = opened?.kept
      const { result, end } = await this.#record(out, opened?.state)
      if (opened) await this.#close(opened)
      release()
      settled = { result }
      onSettled(settled)
      const wait = core.consumerLeft ? undefined : out.write(end)
      if (wait) await wait.catch(() => undefined)
    } catch (error) {
      release()
      settled = { error }
      onSettled(settled)
    }
    return settled
  }

  /** Starts the time limit of the run, or starts it again. */
  #limit(moreMs = 0): void {
    const { core, settings, host } = this.#parts
    const { timeoutMs } = settings
    if (timeoutMs === undefined) return
    this.#cancelLimit?.()
    const message = `run ${core.runId}: exceeded its time limit of ${timeoutMs} ms`
    const abort = () => core.abortState.abort(new KernelError('TIMEOUT', message))
    this.#cancelLimit = core.clock.after(timeoutMs + moreMs, abort, !host.open)
  }

  async #open(): ReturnType<NonNullable<RunHost['open']>> {
    const { core, host } = this.#parts
    let opening: ReturnType<NonNullable<RunHost['open']>> | undefined
    try {
      opening = host.open?.(core.abortState) as NonNullable<typeof opening>
      const opened = await core.abortState.settle(opening)
      this.#limit()
      return opened
    } catch (error) {
      opening?.then((late) => late.close()).catch(() => undefined)
      throw KernelError.is(error) ? error : (core.abortState.error ?? error)
    }
  }

  /** Contract: a host that fails to close is reported and delays the run by no more than its time limit. */
  async #close(opened: { close(): Promise<void> }): Promise<void> {
    const { clock, runId } = this.#parts.core
    try {
      await withinTime(clock, HOST_MS, opened.close(), () => {
        throw new KernelError('TIMEOUT', `run ${runId}: the host did not close within ${HOST_MS} ms`)
      })
    } catch (cause) {
      this.#report(cause)
    }
  }

  #report(cause: unknown): void {
    safeReport(this.#parts.settings.report)(KernelError.from(cause))
  }

  async #record(
    out: Sink<AgentEvent>,
    state: JsonObject | undefined,
  ): Promise<{ result: RunResult<Json>; end: EventOf<'run-end'> }> {
    const { core, agent, start, context } = this.#parts
    const recorder = new RunRecorder(core, out)
    const span = core.spans?.open('run', agent.name, agent.name, 'run', start)
    let thrown: { readonly error: unknown } | undefined
    try {
      const wait = recorder.begin(this.#stamp)
      if (wait) await wait
      core.abortState.throwIfAborted()
      await this.#drive(recorder, internals(context(state)))
      if (this.#stoppedByAbort && !recorder.hasOutcome) thrown = { error: core.abortState.error }
    } catch (error) {
      if (recorder.failed || core.abortState.hides(error)) this.#report(error)
      if (!recorder.failed) thrown = { error }
    }
    const nested = core.endNested()
    if (nested) await nested
    const result = recorder.finish(thrown, this.#stamp)
    const end = endOf(this.#stamp, result)
    core.spans?.part(end)
    if (result.outcome === 'failed') span?.fail(result.error)
    else span?.end(result)
    if (core.parent) core.parent.addUsage(result.usage)
    else core.listeners?.close()
    return { result, end }
  }

  #drive(recorder: RunRecorder, ctx: KernelContext): Promise<void> {
    const { agent, core, host, start: given } = this.#parts
    core.state = ctx.fields.state
    const begin = (start: AgentInput | ResumeInfo, whole = true) => {
      core.ids.history = start.messages
      core.ids.whole = whole
      recorder.expect(start.messages)
    }
    if (!host.around) {
      begin(given)
      return core.abortState.settle(pipe(observe(agent, given, ctx), recorder))
    }
    const settle = (agents: Promise<unknown>) => this.#settle(agents)
    const source = host.around(ctx, {
      agent(start) {
        begin(start)
        return stream((sink) => settle(pipe(observe(agent, start, ctx), sink)))
      },
      begin,
      settle,
      kept: () => core.listeners?.keep(),
    })
    return core.abortState.settle(pipe(source, recorder), HOST_MS)
  }

  /** Ends the agents soon after an abort, so that their host can still save the events so far. */
  async #settle(agents: Promise<unknown>): Promise<void> {
    const { core } = this.#parts
    try {
      await core.abortState.settle(agents)
    } catch (error) {
      if (!core.abortState.aborted) throw error
      this.#stoppedByAbort = true
      core.closeOpenEnds()
    }
  }
}

/** The last event of a run. Contract: without its messages, each of which had an event of its own. */
function endOf(stamp: EventStamp, result: RunResult<Json>): EventOf<'run-end'> {
  const { outcome, text, usage, output, error, interrupts, openCallIds } = result
  // Not a spread of the result, which would cost 0.1 of 2.8 µs of a turn.
  const end: { -readonly [K in keyof EventOf<'run-end'>]: EventOf<'run-end'>[K] } = {
    type: 'run-end',
    ...stamp,
    outcome,
    text,
    usage,
  }
  if (output !== undefined) end.output = output
  if (error) end.error = error
  if (interrupts) end.interrupts = interrupts
  if (openCallIds) end.openCallIds = openCallIds
  return end
}

/** Passes on the part of each event that is to be shown. */
function partly(sink: Sink<AgentEvent>, shows: (event: AgentEvent) => AgentEvent | undefined): Sink<AgentEvent> {
  return sinkTo(sink, (event: AgentEvent) => {
    const shown = shows(event)
    return shown && sink.write(shown)
  })
}
