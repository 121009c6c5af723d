import { type AgentEvent, type CancelMode, type Clock, KernelError } from '@troupe/kernel'
import { elapsedBy, untilAborted } from '@troupe/kernel/kit'
import type { RunControl } from '@troupe/kernel/run'
import { harderCancel } from '@troupe/kernel/store'
import type { RunnerLimits } from './limits.ts'
import type { ThreadLease } from './thread-lease.ts'

const NEVER = Number.POSITIVE_INFINITY

/** Checks a run periodically: its lease, whether it was cancelled, and whether its events are read. */
export class Watch {
  readonly #clock: Clock
  readonly #limits: Required<RunnerLimits>
  #run: RunControl | undefined
  #escalation = NEVER
  #cancelTimer: (() => void) | undefined
  /** The write that was last found waiting, and since when. */
  #seen: { readonly write: Promise<void>; readonly since: number } | undefined
  /** The last write that had to wait for the consumer. */
  #parked: Promise<void> | undefined
  /** How many times `idleMs` that write may wait. */
  #reads = 1
  /** Whether the run has its thread and has started. */
  begun = false
  /** Renewed until the run has ended completely. */
  lease: ThreadLease | undefined
  cancelling: CancelMode | undefined
  /** The cancel that was asked of a run before its process died: it waits until everything that was done has been done again. */
  early: CancelMode | undefined
  /** Whether another run may hold the thread by now. */
  lost = false

  constructor(clock: Clock, limits: Required<RunnerLimits>) {
    this.#clock = clock
    this.#limits = limits
  }

  begin(run: RunControl): void {
    this.#run = run
    this.#schedule()
  }

  end(): void {
    this.#run = undefined
    this.#cancelTimer?.()
  }

  /** Contract: a harder mode replaces a softer one; a soft cancel becomes an abort after `cancelMs`. */
  cancel(mode: CancelMode): void {
    if (mode === this.cancelling || harderCancel(this.cancelling, mode) !== mode) return
    this.cancelling = mode
    if (mode === 'now') {
      this.#run?.abort(new KernelError('ABORTED', 'run: cancelled'))
    } else if (this.#escalation === NEVER) {
      this.#escalation = elapsedBy(this.#clock) + this.#limits.cancelMs
      this.#schedule()
    }
  }

  /** Carries out the cancel that came before the process died. Contract: throws if the run stops here. */
  cancelEarly(): void {
    const mode = this.early
    if (!mode) return
    this.early = undefined
    this.cancel(mode)
    if (this.#run?.aborted) this.#run.signal.throwIfAborted()
  }

  /** Contract: a process that was paused for longer than its lease asks the store before it does anything more; a lost lease ends the run. */
  beforeEffect(): void | Promise<void> {
    if (this.lease && !this.lease.isSure) return this.#confirm(this.lease)
  }

  async #confirm(lease: ThreadLease): Promise<void> {
    try {
      const mode = await (this.#run ? untilAborted(this.#run.signal, lease.confirm()) : lease.confirm())
      if (mode && mode !== this.early) this.cancel(mode)
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  #fail(error: unknown): void {
    this.lost ||= KernelError.is(error, 'LEASE_LOST')
    this.#run?.abort(error)
  }

  /** Notes a write that waits. Contract: called for every such write, so it must be cheap. */
  park(write: Promise<void>, type: AgentEvent['type']): void {
    this.#parked = write
    this.#reads = type === 'tool-start' || type === 'action' ? 2 : 1
  }

  #schedule(): void {
    this.#cancelTimer?.()
    // A run that was stopped before it started does not need a timer.
    if (!this.#run || (this.#run.aborted && !this.begun)) return
    const now = elapsedBy(this.#clock)
    const { pollMs } = this.#limits
    // All runs look at the same moments, so that a store can renew their leases together.
    const next = Math.min(pollMs - (now % pollMs), this.#escalation - now)
    const look = () => void this.#look().catch((error: unknown) => this.#fail(error))
    // A run whose events were not being read at the last check does not keep the process alive.
    const awaited = this.#parked === undefined || this.#seen?.write !== this.#parked
    this.#cancelTimer = this.#clock.after(Math.max(0, next), look, awaited)
  }

  async #look(): Promise<void> {
    const now = elapsedBy(this.#clock)
    const { idleMs } = this.#limits
    if (now >= this.#escalation) {
      this.#escalation = NEVER
      const { cancelling: mode = 'now' } = this
      const { cancelMs } = this.#limits
      this.cancelling = 'now'
      const message = `run: cancelled ${mode}, and aborted because it had not stopped after ${cancelMs} ms`
      this.#run?.abort(new KernelError('ABORTED', message, { details: { mode, cancelMs } }))
    }
    if (this.#unreadFor(now) >= idleMs * this.#reads) {
      this.#run?.abort(new KernelError('TIMEOUT', `run: its events were not read for ${idleMs} ms`))
    }
    this.#schedule()
    const mode = await this.lease?.renew()
    if (mode && mode !== this.early) this.cancel(mode)
  }

  /** How long the current write has been waiting; a write counts only from the check that first finds it. */
  #unreadFor(now: number): number {
    const write = this.#parked
    if (!write) return 0
    if (this.#seen?.write !== write) {
      this.#seen = { write, since: now }
      const taken = () => {
        if (this.#parked === write) this.#parked = undefined
      }
      write.then(taken, taken)
    }
    return now - this.#seen.since
  }
}
