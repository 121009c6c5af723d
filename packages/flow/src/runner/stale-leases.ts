import { type Clock, KernelError, type LeaseStore, type ThreadRef } from '@troupe/kernel'
import { elapsedBy } from '@troupe/kernel/kit'
import { isPassing } from './with-retries.ts'

/** A lease of a run that has ended, which the store still has. */
interface StaleLease {
  readonly ref: ThreadRef
  readonly token: number
  /** When it is free without a release, by `elapsedBy(clock)`. */
  readonly until: number
  cancelTimer: () => void
}

const PAUSE_MS = { first: 200, most: 2_000 } as const

/** The leases that runs of this process could not release because of an outage. */
export class StaleLeases {
  readonly #leases: LeaseStore
  readonly #clock: Clock
  readonly #report: (error: KernelError) => void
  /** By thread, which has one lease at a time. */
  readonly #left: Map<string, StaleLease> = new Map()

  constructor(leases: LeaseStore, clock: Clock, report: (error: KernelError) => void) {
    this.#leases = leases
    this.#clock = clock
    this.#report = report
  }

  /** Goes on releasing a lease in the background until it expires. Contract: does not hold the process. */
  add(ref: ThreadRef, token: number, until: number): void {
    const key = keyOf(ref)
    this.#left.get(key)?.cancelTimer()
    const lease: StaleLease = { ref, token, until, cancelTimer: () => {} }
    this.#left.set(key, lease)
    this.#retry(lease, PAUSE_MS.first)
  }

  /** Releases the lease that an ended run of this process has left on a thread, so that another run need not wait for its end. */
  async takeBack(ref: ThreadRef): Promise<void> {
    const lease = this.#left.get(keyOf(ref))
    if (!lease) return
    await this.#leases.release(ref, lease.token)
    this.#forget(lease)
  }

  #retry(lease: StaleLease, pause: number): void {
    const again = async () => {
      try {
        await this.#leases.release(lease.ref, lease.token)
      } catch (error) {
        if (this.#left.get(keyOf(lease.ref)) !== lease) return
        if (isPassing(error) && elapsedBy(this.#clock) + pause < lease.until) {
          return this.#retry(lease, Math.min(pause * 2, PAUSE_MS.most))
        }
        this.#report(KernelError.from(error))
      }
      this.#forget(lease)
    }
    lease.cancelTimer = this.#clock.after(pause, () => void again(), false)
  }

  #forget(lease: StaleLease): void {
    lease.cancelTimer()
    const key = keyOf(lease.ref)
    if (this.#left.get(key) === lease) this.#left.delete(key)
  }
}

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}
