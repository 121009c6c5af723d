import { type CancelMode, type Clock, KernelError, type LeaseStore, type Thread, type ThreadRef } from '@troupe/kernel'
import { abortScope, elapsedBy, sleep, untilAborted } from '@troupe/kernel/kit'
import type { RunControl } from '@troupe/kernel/run'
import type { LocalRuns } from './local-runs.ts'
import type { StaleLeases } from './stale-leases.ts'
import { isPassing, withRetries } from './with-retries.ts'

/** How a run reacts to a busy thread: it fails, waits in a queue, or stops the run that holds the thread. */
export type BusyPolicy = 'reject' | 'queue' | 'interrupt'

/** How a lease is acquired and renewed. */
export interface LeaseOptions {
  readonly leases: LeaseStore
  readonly local: LocalRuns
  readonly clock: Clock
  readonly busy: BusyPolicy
  readonly queueMs: number
  readonly leaseMs: number
  readonly pollMs: number
  readonly stale: StaleLeases
  /** Asks the run that holds the thread to stop. */
  cancel(ref: ThreadRef, runId: string | undefined): Promise<unknown>
}

/** A moment, by the time of day and by the time that passes. */
interface Moment {
  readonly now: number
  readonly elapsed: number
}

function momentBy(clock: Clock): Moment {
  return { now: clock.now(), elapsed: elapsedBy(clock) }
}

/** The lease of one run on its thread. */
export class ThreadLease {
  readonly token: number
  /** The cancel that was asked of the run before its process died. */
  readonly cancel: CancelMode | undefined
  /** Whether no run has begun with the id of this one, as far as the store tells. */
  readonly fresh: boolean
  /** The thread when the lease was taken, if the store has told; null if there was none. */
  readonly thread: Thread | null | undefined
  readonly #ref: ThreadRef
  readonly #options: LeaseOptions
  #renewed: Moment
  #renewal: Promise<CancelMode | undefined> | undefined
  /** Whether the last commit releases it, or has released it. */
  #ending: 'releasing' | 'released' | undefined

  private constructor(
    ref: ThreadRef,
    taken: Awaited<ReturnType<LeaseStore['acquire']>>,
    asked: Moment,
    options: LeaseOptions,
  ) {
    this.#ref = ref
    this.token = taken.token
    this.cancel = taken.cancel
    this.fresh = taken.fresh === true
    this.thread = taken.thread
    this.#options = options
    this.#renewed = asked
  }

  /** Acquires the lease. Contract: rejects with `THREAD_BUSY`, at once or after `queueMs`. */
  static async acquire(
    ref: ThreadRef,
    holder: { readonly runId: string; readonly begins?: boolean },
    options: LeaseOptions,
    run: RunControl,
  ): Promise<ThreadLease> {
    const { leases, leaseMs, busy, local, stale, clock, queueMs } = options
    const take = async () => {
      await stale.takeBack(ref)
      const asked = momentBy(clock)
      return new ThreadLease(ref, await leases.acquire(ref, { ...holder, ttlMs: leaseMs }), asked, options)
    }
    if (busy === 'reject') return take()
    const { signal } = run
    const deadline = elapsedBy(clock) + queueMs
    const queued = busy === 'queue' ? local.queue(ref) : undefined
    try {
      if (queued?.before) await pause(clock, queueMs, signal, queued.before)
      return await waitFor(take, ref, deadline, options, signal)
    } finally {
      queued?.leave()
    }
  }

  /** Renews the lease and gives the requested cancel mode. Contract: rejects with `LEASE_LOST` if another run has, or may have, the thread; a store that fails or hangs is tolerated until the lease expires. */
  async renew(): Promise<CancelMode | undefined> {
    if (this.#ending === 'released') return undefined
    return this.#renewal ? this.#wait(undefined) : this.#renew()
  }

  /** Whether no other run can have the thread. Contract: as far as the clock of this process tells; one that was set tells nothing. */
  get isSure(): boolean {
    const { clock, leaseMs } = this.#options
    // The time of day also counts while the machine is suspended.
    const age = clock.now() - this.#renewed.now
    return age >= 0 && age < leaseMs && elapsedBy(clock) < this.#end
  }

  /** Asks the store whether the run still has its thread, for a process that was paused. Contract: rejects with `LEASE_LOST` if it has not; a store that fails is tolerated until the lease expires. */
  confirm(): Promise<CancelMode | undefined> {
    return this.#renewal ?? this.#renew()
  }

  #renew(): Promise<CancelMode | undefined> {
    const renewal = this.#askStore().finally(() => {
      this.#renewal = undefined
    })
    this.#renewal = renewal
    return renewal
  }

  async #askStore(): Promise<CancelMode | undefined> {
    const { leases, clock, leaseMs } = this.#options
    const asked = momentBy(clock)
    try {
      const { cancel } = await leases.renew(this.#ref, this.token, leaseMs)
      this.#renewed = asked
      return cancel
    } catch (cause) {
      if (this.#ending === 'released') return undefined
      // The commit that releases it may just have been made; if it was not, it tells that the lease is lost.
      if (KernelError.is(cause, 'LEASE_LOST') && !this.#ending) throw cause
      return this.#wait(cause)
    }
  }

  #wait(cause: unknown): undefined {
    if (elapsedBy(this.#options.clock) < this.#end) return undefined
    const message = `run: the lease of thread ${this.#ref.threadId} could not be renewed`
    throw new KernelError('LEASE_LOST', message, { cause })
  }

  /** When other runs may take the thread. Contract: by the time that passes, so that a clock that is set neither ends nor extends it. */
  get #end(): number {
    return this.#renewed.elapsed + this.#options.leaseMs
  }

  /** Writes to the store. Contract: an error that may pass is retried as long as the lease lives, but no longer than one lease: a write can fail while renewals succeed. */
  write<T>(work: () => Promise<T>): Promise<T> {
    const { clock, leaseMs } = this.#options
    const most = elapsedBy(clock) + leaseMs
    return withRetries(clock, work, () => Math.min(this.#end, most))
  }

  /** Writes the last commit, which releases the lease. Contract: a store that does not know `release` leaves it, and it is released then. */
  async writeLast(work: () => Promise<Thread>): Promise<Thread> {
    this.#ending = 'releasing'
    try {
      const thread = await this.write(work)
      if (thread.runId === undefined) this.#ending = 'released'
      return thread
    } finally {
      if (this.#ending === 'releasing') this.#ending = undefined
    }
  }

  /** Releases the thread. Contract: if the store is not available now, this goes on in the background. */
  async release(): Promise<void> {
    if (this.#ending === 'released') return
    const { leases, stale } = this.#options
    try {
      await leases.release(this.#ref, this.token)
    } catch (error) {
      if (!isPassing(error)) throw error
      stale.add(this.#ref, this.token, this.#end)
    }
  }
}

/** Retries whenever the thread may be free. */
async function waitFor(
  take: () => Promise<ThreadLease>,
  ref: ThreadRef,
  deadline: number,
  { clock, busy, local, pollMs, cancel }: LeaseOptions,
  signal: AbortSignal,
): Promise<ThreadLease> {
  const stopped = new Set<unknown>()
  const stopOnce = async (holder: unknown) => {
    if (stopped.has(holder)) return
    stopped.add(holder)
    await cancel(ref, typeof holder === 'string' ? holder : undefined)
  }
  for (;;) {
    signal.throwIfAborted()
    try {
      return await untilAborted(signal, take(), (late) => late.release())
    } catch (error) {
      if (!KernelError.is(error, 'THREAD_BUSY')) throw error
      const freed = local.freed(ref)
      if (busy === 'interrupt') await stopOnce(error.details.runId)
      const left = deadline - elapsedBy(clock)
      if (left <= 0) throw error
      await pause(clock, Math.min(left, pollMs), signal, freed)
    }
  }
}

/** Waits for a time, or until the thread is free. */
async function pause(clock: Clock, ms: number, signal: AbortSignal, freed?: Promise<void>): Promise<void> {
  if (!freed) return sleep(clock, ms, signal)
  const scope = abortScope(signal)
  try {
    await Promise.race([sleep(clock, ms, scope.signal), freed])
  } finally {
    scope.abort(undefined)
    scope[Symbol.dispose]()
  }
}
