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
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
  type ThreadRef,
} from '@troupe/kernel'
import { pipe, sinkTo } from '@troupe/kernel/kit'
import type { RunControl, RunHost, RunSettings } from '@troupe/kernel/run'
import { FLOW_CONTEXT } from '../flow-context.ts'
import { ThreadLog } from '../thread-log.ts'
import { checkInput } from './check-input.ts'
import { openWithAnswers, openWithInput, type PendingPolicy } from './opening.ts'
import type { FlowRequest, RunnerParts } from './runner.ts'
import { type LeaseOptions, ThreadLease } from './thread-lease.ts'
import { type RunIntent, ThreadUpdate } from './thread-update.ts'
import { Watch } from './watch.ts'

type Opened = { readonly state: JsonObject; close(): Promise<void> }

/** One run on one thread, from acquiring the lease to the last commit. */
export class ThreadRun implements RunSettings, RunHost {
  readonly runId: string
  readonly callbacks: readonly Callback[]
  readonly clock: Clock
  readonly canInterrupt = true
  readonly session: ThreadRef
  readonly signal?: AbortSignal
  readonly report?: (error: KernelError) => void
  readonly #parts: RunnerParts
  readonly #intent: RunIntent
  readonly #prepare: FlowRequest['prepare']
  readonly #pending: PendingPolicy | undefined
  readonly #leaseOptions: LeaseOptions
  readonly #watch: Watch
  #log: ThreadLog = new ThreadLog([])
  #lease: ThreadLease | undefined
  #unregister: (() => void) | undefined
  #update: ThreadUpdate | undefined
  /** Whether the agents have ended and only the last commit is left. */
  #done = false

  constructor(
    parts: RunnerParts,
    intent: RunIntent,
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
    this.#intent = intent
    this.#prepare = prepare
    this.#pending = pending
    this.#leaseOptions = busy ? { ...parts.lease, busy } : parts.lease
    this.#watch = new Watch(parts.clock, parts.limits)
  }

  /** Contract: gives false if the request is for another run. */
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
    const ready = ctx.with(FLOW_CONTEXT, {
      runId: this.runId,
      owner: flow,
      limit: limits.transfers,
      budget: { left: limits.transfers },
      log: this.#log,
    })
    return this.#prepare ? this.#prepare(ready) : ready
  }

  async open(run: RunControl): Promise<Opened> {
    const { runMs, queueMs } = this.#parts.limits
    try {
      this.#watch.begin(run, this.#leaseOptions.busy === 'reject' ? runMs : runMs + queueMs)
      return await this.#openThread(this.session, run)
    } catch (error) {
      // The error that refused the run is more useful than one from releasing its thread.
      await this.#close().catch(() => undefined)
      throw error
    }
  }

  async #openThread(ref: ThreadRef, run: RunControl): Promise<Opened> {
    const { store, flow, clock, pending } = this.#parts
    this.#lease = await ThreadLease.acquire(ref, this.runId, this.#leaseOptions, run)
    this.#watch.lease = this.#lease
    this.#unregister = this.#leaseOptions.local.register(ref, this)
    this.#watch.begin(run, this.#parts.limits.runMs)
    const { answers, input } = this.#intent
    checkInput({ messages: [], ...input })
    const found = await store.threads.get(ref)
    const opening = answers
      ? await openWithAnswers(flow, found, answers, clock)
      : openWithInput(flow, found ?? { openCalls: [] }, input, this.#pending ?? pending)
    const thread = found ?? (await store.threads.open(ref))
    const { token } = this.#lease
    const update = new ThreadUpdate({
      runner: this.#parts,
      runId: this.runId,
      intent: this.#intent,
      thread,
      opening,
      token,
      log: this.#log,
    })
    this.#update = update
    this.#watch.begun = true
    return { state: update.state, close: () => this.#close() }
  }

  async #close(): Promise<void> {
    this.#watch.end()
    try {
      await this.#lease?.release()
    } finally {
      this.#unregister?.()
    }
  }

  around(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent> {
    return stream(async (sink) => {
      // Set by `open`, which has to succeed before the run starts.
      const update = this.#update as ThreadUpdate
      const start = await update.begin()
      const out = sinkTo(sink, (event: AgentEvent) => this.#pass(event, update, ctx, sink))
      try {
        await pipe(next(start), out)
      } finally {
        this.#done = true
        if (!this.#watch.lost) await update.commit(ctx.state)
      }
    })
  }

  #pass(event: AgentEvent, update: ThreadUpdate, ctx: RunContext, sink: Sink<AgentEvent>): void | Promise<void> {
    if (event.type === 'action' && event.action.type === 'interrupt' && event.runId === this.runId) {
      const { interrupts, state = null } = event.action
      return this.#ask(event, update, update.checkpoint({ interrupts, state }), ctx, sink)
    }
    const wait = sink.write(event)
    if (wait) this.#watch.park(wait, event.type)
    return wait
  }

  /** Shows a question. Contract: its checkpoint is stored first, so that it can be answered at once; the state of the agents is not shown. */
  async #ask(
    event: ActionEvent,
    update: ThreadUpdate,
    checkpoint: Checkpoint,
    ctx: RunContext,
    sink: Sink<AgentEvent>,
  ): Promise<void> {
    const { interrupts } = checkpoint
    if (interrupts.length > 0) {
      // A run that was stopped must not ask.
      ctx.throwIfAborted()
      await update.commit(ctx.state, checkpoint)
      ctx.throwIfAborted()
    }
    update.suspended = checkpoint
    const wait = interrupts.length > 0 && sink.write({ ...event, action: { type: 'interrupt', interrupts } })
    if (!wait) return
    this.#watch.park(wait, event.type)
    await wait
  }
}
