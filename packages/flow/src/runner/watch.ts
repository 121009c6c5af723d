import { type AgentEvent, type CancelMode, type Clock, KernelError, type RunControl } from '@troupe/kernel'
import type { RunnerLimits } from './limits.ts'
import type { ThreadLease } from './thread-lease.ts'

const MODES: readonly (CancelMode | undefined)[] = [undefined, 'after-tools', 'after-model', 'now']
const NEVER = Number.POSITIVE_INFINITY

/** Looks after a run from time to time: its limits, its lease, and whether it is to stop. */
export class Watch {
  readonly #clock: Clock
  readonly #limits: Required<RunnerLimits>
  #run: RunControl | undefined
  #deadline = NEVER
  #escalation = NEVER
  #cancelTimer: (() => void) | undefined
  /** Since when the same write has been found unread. */
  #seen: { readonly write: Promise<void>; readonly since: number } | undefined
  /** The last write that had to wait, and for how many reads it may. */
  #parked: Promise<void> | undefined
  #reads = 1
  /** Whether the run has its thread and goes on. */
  begun = false
  /** Renewed as long as the run goes on, also while it ends. */
  lease: ThreadLease | undefined
  cancelling: CancelMode | undefined
  /** Whether the thread may be another's by now. */
  lost = false

  constructor(clock: Clock, limits: Required<RunnerLimits>) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Begins, or begins anew. */
  begin(run: RunControl, ms: number): void {
    this.#run = run
    this.#deadline = this.#clock.now() + ms
    this.#schedule()
  }

  end(): void {
    this.#run = undefined
    this.#cancelTimer?.()
  }

  /** Contract: a harder intent replaces a softer one; a soft one becomes hard in time. */
  cancel(mode: CancelMode): void {
    if (MODES.indexOf(mode) <= MODES.indexOf(this.cancelling)) return
    this.cancelling = mode
    if (mode === 'now') {
      this.#run?.abort(new KernelError('ABORTED', 'run: cancelled'))
    } else if (this.#escalation === NEVER) {
      this.#escalation = this.#clock.now() + this.#limits.cancelMs
      this.#schedule()
    }
  }

  /** Contract: called for every write that waits, so it does next to nothing. */
  park(write: Promise<void>, type: AgentEvent['type']): void {
    this.#parked = write
    this.#reads = type === 'tool-start' || type === 'action' ? 2 : 1
  }

  #schedule(): void {
    this.#cancelTimer?.()
    // Nobody waits for a run that was stopped before it began.
    if (!this.#run || (this.#run.aborted && !this.begun)) return
    const now = this.#clock.now()
    const next = Math.min(this.#limits.pollMs, this.#deadline - now, this.#escalation - now)
    const look = () =>
      void this.#look().catch((error: unknown) => {
        this.lost ||= KernelError.is(error, 'LEASE_LOST')
        this.#run?.abort(error)
      })
    // A run that nobody was reading at the last look does not hold the process.
    const awaited = this.#parked === undefined || this.#seen?.write !== this.#parked
    this.#cancelTimer = this.#clock.after(Math.max(0, next), look, awaited)
  }

  async #look(): Promise<void> {
    const now = this.#clock.now()
    const { runMs, idleMs } = this.#limits
    if (now >= this.#deadline) {
      this.#deadline = NEVER
      this.#stop(`took longer than ${runMs} ms`)
    }
    if (now >= this.#escalation) {
      this.#escalation = NEVER
      this.cancel('now')
    }
    if (this.#unreadFor(now) >= idleMs * this.#reads) {
      this.#stop(`nobody has read for ${idleMs} ms`)
    }
    this.#schedule()
    const mode = await this.lease?.renew()
    if (mode) this.cancel(mode)
  }

  #stop(why: string): void {
    this.#run?.abort(new KernelError('TIMEOUT', `run: ${why}`))
  }

  /** Writes are not counted one by one: only one that is found waiting is looked at. */
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
