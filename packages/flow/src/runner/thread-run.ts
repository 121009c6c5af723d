import {
  type ActionEvent,
  type AgentEvent,
  type AgentInput,
  type Callback,
  type CancelMode,
  type Checkpoint,
  type Clock,
  type JsonObject,
  type KernelError,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunControl,
  type RunHost,
  type RunSettings,
  type Sink,
  sinkTo,
  stream,
  type ThreadRef,
} from '@troupe/kernel'
import { SCENE, SessionLog } from '../session.ts'
import { checkInput } from './check-input.ts'
import { openWithAnswers, openWithInput, type PendingPolicy } from './opening.ts'
import type { FlowRequest, RunnerParts } from './runner.ts'
import { type LeaseOptions, ThreadLease } from './thread-lease.ts'
import { ThreadTurn, type Wish } from './thread-turn.ts'
import { Watch } from './watch.ts'

type Opened = { readonly state: JsonObject; close(): Promise<void> }

/** One run on one thread, from its lease to its commit. */
export class ThreadRun implements RunSettings, RunHost {
  readonly runId: string
  readonly callbacks: readonly Callback[]
  readonly clock: Clock
  readonly canInterrupt = true
  readonly session: ThreadRef
  readonly signal?: AbortSignal
  readonly report?: (error: KernelError) => void
  readonly #parts: RunnerParts
  readonly #wish: Wish
  readonly #prepare: FlowRequest['prepare']
  readonly #pending: PendingPolicy | undefined
  readonly #lending: LeaseOptions
  readonly #watch: Watch
  #log: SessionLog = new SessionLog([])
  #lease: ThreadLease | undefined
  #leave: (() => void) | undefined
  #turn: ThreadTurn | undefined
  /** The agents have ended; what is left is to store it. */
  #done = false

  constructor(
    parts: RunnerParts,
    wish: Wish,
    runId: string,
    { signal, prepare, pending, busy }: FlowRequest,
    session: ThreadRef,
  ) {
    this.runId = runId
    this.callbacks = parts.callbacks
    this.clock = parts.clock
    this.session = session
    if (signal) this.signal = signal
    if (parts.report) this.report = parts.report
    this.#parts = parts
    this.#wish = wish
    this.#prepare = prepare
    this.#pending = pending
    this.#lending = busy ? { ...parts.lease, busy } : parts.lease
    this.#watch = new Watch(parts.clock, parts.limits)
  }

  /** Contract: false if another run is meant. */
  cancel(mode: CancelMode, runId: string | undefined): boolean {
    if (this.#done || this.#watch.lost || (runId !== undefined && runId !== this.runId)) return false
    this.#watch.cancel(mode)
    return true
  }

  cancelling(): CancelMode | undefined {
    return this.#watch.cancelling
  }

  prepare(ctx: RunContext): RunContext {
    const { flow, limits } = this.#parts
    const ready = ctx.with(SCENE, {
      runId: this.runId,
      player: flow,
      limit: limits.transfers,
      budget: { left: limits.transfers },
      session: this.#log,
    })
    return this.#prepare ? this.#prepare(ready) : ready
  }

  async open(run: RunControl): Promise<Opened> {
    const { runMs, queueMs } = this.#parts.limits
    try {
      this.#watch.begin(run, this.#lending.busy === 'reject' ? runMs : runMs + queueMs)
      return await this.#openThread(this.session, run)
    } catch (error) {
      // What refused the run counts, not that its thread could not be released.
      await this.#close().catch(() => undefined)
      throw error
    }
  }

  async #openThread(ref: ThreadRef, run: RunControl): Promise<Opened> {
    const { store, flow, clock, pending } = this.#parts
    this.#lease = await ThreadLease.acquire(ref, this.runId, this.#lending, run)
    this.#watch.lease = this.#lease
    this.#leave = this.#lending.local.enter(ref, this)
    this.#watch.begin(run, this.#parts.limits.runMs)
    const { answers, input } = this.#wish
    checkInput({ messages: [], ...input })
    const found = await store.threads.get(ref)
    const opening = answers
      ? await openWithAnswers(flow, found, answers, clock)
      : openWithInput(flow, found ?? { openCalls: [] }, input, this.#pending ?? pending)
    const thread = found ?? (await store.threads.open(ref))
    const { token } = this.#lease
    const turn = new ThreadTurn({
      runner: this.#parts,
      runId: this.runId,
      wish: this.#wish,
      thread,
      opening,
      token,
      log: this.#log,
    })
    this.#turn = turn
    this.#watch.begun = true
    return { state: turn.state, close: () => this.#close() }
  }

  async #close(): Promise<void> {
    this.#watch.end()
    try {
      await this.#lease?.release()
    } finally {
      this.#leave?.()
    }
  }

  around(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent> {
    return stream(async (sink) => {
      // Opened, or the run would not have begun.
      const turn = this.#turn as ThreadTurn
      const start = await turn.begin()
      const out = sinkTo(sink, (event: AgentEvent) => this.#pass(event, turn, ctx, sink))
      try {
        await pipe(next(start), out)
      } finally {
        this.#done = true
        if (!this.#watch.lost) await turn.commit(ctx.state)
      }
    })
  }

  #pass(event: AgentEvent, turn: ThreadTurn, ctx: RunContext, sink: Sink<AgentEvent>): void | Promise<void> {
    if (event.type === 'action' && event.action.type === 'interrupt' && event.runId === this.runId) {
      const { interrupts, state = null } = event.action
      return this.#ask(event, turn, turn.checkpoint({ interrupts, state }), ctx, sink)
    }
    const wait = sink.write(event)
    if (wait) this.#watch.park(wait, event.type)
    return wait
  }

  /** Contract: a question is shown when it can be answered, so its checkpoint is stored first; where the run goes on is nobody's business. */
  async #ask(
    event: ActionEvent,
    turn: ThreadTurn,
    checkpoint: Checkpoint,
    ctx: RunContext,
    sink: Sink<AgentEvent>,
  ): Promise<void> {
    const { interrupts } = checkpoint
    if (interrupts.length > 0) {
      // Whoever has stopped the run is not asked.
      ctx.throwIfAborted()
      await turn.commit(ctx.state, checkpoint)
      ctx.throwIfAborted()
    }
    turn.suspended = checkpoint
    const wait = interrupts.length > 0 && sink.write({ ...event, action: { type: 'interrupt', interrupts } })
    if (!wait) return
    this.#watch.park(wait, event.type)
    await wait
  }
}
