import {
  type AgentEvent,
  type CancelMode,
  KernelError,
  type RunContext,
  type Sink,
  stream,
  type ThreadRef,
} from '@troupe/kernel'
import { sinkTo } from '@troupe/kernel/kit'
import type { HostedRun, RunControl, RunHost } from '@troupe/kernel/run'
import type { LeasedRun } from './reopen-thread.ts'
import { RunLength } from './run-length.ts'
import type { FlowRequest, RunnerParts } from './runner-parts.ts'
import { type LeaseOptions, ThreadLease } from './thread-lease.ts'
import { runOnThread, settleOf, type ThreadWork } from './thread-work.ts'
import { Watch } from './watch.ts'

/** How a run begins on its thread. */
export interface ThreadOpener extends Pick<RunHost, 'shows'> {
  /** Whether the run is new, and so must have a new id. */
  readonly begins?: boolean
  /** Opens the thread of a run that has its lease. */
  open(run: LeasedRun): Promise<ThreadWork>
}

/** Hosts one run on one thread, from acquiring the lease to the last commit. Contract: a run with a journal that is stopped by an outage of the store stays as it is in its thread, where it can be continued. */
export class ThreadRun implements RunHost {
  readonly queueMs: number
  readonly shows?: NonNullable<RunHost['shows']>
  readonly #runId: string
  readonly #session: ThreadRef
  readonly #parts: RunnerParts
  readonly #opener: ThreadOpener
  readonly #leaseOptions: LeaseOptions
  readonly #watch: Watch
  #run: RunControl | undefined
  #lease: ThreadLease | undefined
  #unregister: (() => void) | undefined
  #work: ThreadWork | undefined
  /** Whether the agents have ended and only the last commit is left. */
  #done = false

  constructor(
    parts: RunnerParts,
    runId: string,
    session: ThreadRef,
    { busy = parts.lease.busy }: FlowRequest,
    opener: ThreadOpener,
  ) {
    this.#runId = runId
    this.#session = session
    this.#parts = parts
    this.#opener = opener
    if (opener.shows) this.shows = opener.shows
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

  beforeEffect(): void | Promise<void> {
    return this.#watch.beforeEffect()
  }

  async open(run: RunControl): ReturnType<NonNullable<RunHost['open']>> {
    const ref = this.#session
    this.#run = run
    try {
      this.#watch.begin(run)
      const { begins = false } = this.#opener
      const holder = { runId: this.#runId, ...(begins && { begins }) }
      this.#lease = await ThreadLease.acquire(ref, holder, this.#leaseOptions, run)
      this.#watch.lease = this.#lease
      this.#unregister = this.#leaseOptions.local.register(ref, this)
      // A run that was stopped while it waited for its thread stores nothing.
      if (run.aborted) run.signal.throwIfAborted()
      const { token, cancel, fresh, thread } = this.#lease
      const write = this.#lease.write.bind(this.#lease)
      const writeLast = this.#lease.writeLast.bind(this.#lease)
      this.#watch.early = cancel
      const atEnd = () => this.#watch.cancelEarly()
      const leased = { ref, runId: this.#runId, token, fresh, thread, write, writeLast, ...(cancel && { atEnd }) }
      const work = await this.#opener.open(leased)
      this.#work = cancel ? { ...work, agentsEnded: atEnd } : work
      this.#watch.begun = true
      const { update, kept } = this.#work
      return { state: update.state, attempt: token, ...(kept && { kept }), close: () => this.#close() }
    } catch (error) {
      // The error that refused the run is more useful than one from releasing its thread.
      await this.#close().catch(() => undefined)
      throw run.aborted ? error : KernelError.from(error)
    }
  }

  async #close(): Promise<void> {
    this.#watch.end()
    try {
      if (!this.#done && !this.#isLeft) await this.#abandon()
    } finally {
      await this.#release()
    }
  }

  /** Whether the thread keeps the run as it is: another run may have it, or this one goes on after an outage. */
  get #isLeft(): boolean {
    return this.#watch.lost || (this.#work?.journal !== undefined && isOutage(this.#run))
  }

  /** Ends a run whose agents never ran. */
  async #abandon(): Promise<void> {
    const work = this.#work
    if (work) await (settleOf(work, true)?.() ?? work.update.abandon())
  }

  async #release(): Promise<void> {
    try {
      await this.#lease?.release()
    } finally {
      this.#unregister?.()
    }
  }

  around(ctx: RunContext, run: HostedRun): AsyncIterable<AgentEvent> {
    const done = () => {
      this.#done = true
      return !this.#isLeft
    }
    // Set by `open`, which has to succeed before the run starts.
    const work = this.#work as ThreadWork
    return stream((sink) => runOnThread(this.#parts, work, ctx, run, this.#watched(sink), done))
  }

  /** Counts what is written, and notes each write that waits for the consumer. */
  #watched(sink: Sink<AgentEvent>): Sink<AgentEvent> {
    const length = new RunLength(this.#runId, this.#parts.limits.runChars)
    return sinkTo(sink, (event: AgentEvent) => {
      length.add(event)
      const wait = sink.write(event)
      if (wait) this.#watch.park(wait, event.type)
      return wait
    })
  }
}

/** Whether a run was stopped because its store is not available. */
function isOutage(run: RunControl | undefined): boolean {
  if (!run?.aborted) return false
  const { reason } = run.signal
  return KernelError.is(reason) && reason.retryable && reason.code.startsWith('STORE_')
}
