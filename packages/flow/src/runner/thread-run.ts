import {
  type AgentEvent,
  type AgentInput,
  type CancelMode,
  type JsonObject,
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
  type ThreadRef,
} from '@troupe/kernel'
import { sinkTo } from '@troupe/kernel/kit'
import type { HostedRun, RunControl, RunHost } from '@troupe/kernel/run'
import { withFlowContext } from '../flow-context.ts'
import { ThreadLog } from '../thread-log.ts'
import type { Suspended } from '../tree/flow-outcome.ts'
import { runFlow } from '../tree/run-flow.ts'
import { checkInput } from './check-input.ts'
import { openWithAnswers, openWithInput } from './opening.ts'
import type { FlowRequest, RunnerParts } from './runner-parts.ts'
import { type LeaseOptions, ThreadLease } from './thread-lease.ts'
import { type RunIntent, ThreadUpdate } from './thread-update.ts'
import { Watch } from './watch.ts'

type Opened = { readonly state: JsonObject; close(): Promise<void> }

/** Hosts one run on one thread, from acquiring the lease to the last commit. */
export class ThreadRun implements RunHost {
  readonly queueMs: number
  readonly #runId: string
  readonly #session: ThreadRef
  readonly #parts: RunnerParts
  readonly #intent: RunIntent
  readonly #pending: FlowRequest['pending']
  readonly #leaseOptions: LeaseOptions
  readonly #watch: Watch
  readonly #log: ThreadLog = new ThreadLog([])
  #lease: ThreadLease | undefined
  #unregister: (() => void) | undefined
  #update: ThreadUpdate | undefined
  /** Whether the agents have ended and only the last commit is left. */
  #done = false

  constructor(
    parts: RunnerParts,
    intent: RunIntent,
    runId: string,
    { pending, busy = parts.lease.busy }: FlowRequest,
    session: ThreadRef,
  ) {
    this.#runId = runId
    this.#session = session
    this.#parts = parts
    this.#intent = intent
    this.#pending = pending
    this.#leaseOptions = busy === parts.lease.busy ? parts.lease : { ...parts.lease, busy }
    this.queueMs = busy === 'reject' ? 0 : parts.limits.queueMs
    this.#watch = new Watch(parts.clock, parts.limits)
  }

  /** Contract: gives false if the request is for another run. */
  cancel(mode: CancelMode, runId: string | undefined): boolean {
    if (this.#done || this.#watch.lost || (runId !== undefined && runId !== this.#runId)) return false
    this.#watch.cancel(mode)
    return true
  }

  cancelling(): CancelMode | undefined {
    return this.#watch.cancelling
  }

  async open(run: RunControl): Promise<Opened> {
    try {
      this.#watch.begin(run)
      return await this.#openThread(this.#session, run)
    } catch (error) {
      // The error that refused the run is more useful than one from releasing its thread.
      await this.#close().catch(() => undefined)
      throw error
    }
  }

  async #openThread(ref: ThreadRef, run: RunControl): Promise<Opened> {
    const { store, flow, clock, pending } = this.#parts
    this.#lease = await ThreadLease.acquire(ref, this.#runId, this.#leaseOptions, run)
    this.#watch.lease = this.#lease
    this.#unregister = this.#leaseOptions.local.register(ref, this)
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
      runId: this.#runId,
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

  around(ctx: RunContext, run: HostedRun): AsyncIterable<AgentEvent> {
    return stream(async (sink) => {
      // Set by `open`, which has to succeed before the run starts.
      const update = this.#update as ThreadUpdate
      const start = await update.begin()
      run.begin(start)
      try {
        await run.settle(this.#runAgents(start, update, ctx, this.#watched(sink)))
      } finally {
        this.#done = true
        if (!this.#watch.lost) await update.commit(ctx.state)
      }
    })
  }

  async #runAgents(
    start: AgentInput | ResumeInfo,
    update: ThreadUpdate,
    ctx: RunContext,
    sink: Sink<AgentEvent>,
  ): Promise<void> {
    const { flow, limits } = this.#parts
    const { suspended } = await runFlow(flow, start, withFlowContext(ctx, this.#log, limits.transfers), sink)
    if (suspended) await this.#suspend(suspended, update, ctx, sink)
  }

  /** Notes each write that waits for the consumer. */
  #watched(sink: Sink<AgentEvent>): Sink<AgentEvent> {
    return sinkTo(sink, (event: AgentEvent) => {
      const wait = sink.write(event)
      if (wait) this.#watch.park(wait, event.type)
      return wait
    })
  }

  /** Suspends the run and shows its questions. Contract: the checkpoint is stored first, so that a question can be answered at once; the state of the agents is not shown. */
  async #suspend(suspended: Suspended, update: ThreadUpdate, ctx: RunContext, sink: Sink<AgentEvent>): Promise<void> {
    const checkpoint = update.checkpoint(suspended)
    const { interrupts } = checkpoint
    if (interrupts.length > 0) {
      // A run that was stopped must not ask.
      ctx.throwIfAborted()
      await update.commit(ctx.state, checkpoint)
      ctx.throwIfAborted()
    }
    update.suspended = checkpoint
    if (interrupts.length === 0) return
    const { runId, agentName, runPath } = ctx
    await sink.write({ type: 'action', runId, agentName, runPath, action: { type: 'interrupt', interrupts } })
  }
}
