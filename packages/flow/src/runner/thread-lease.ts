import { type CancelMode, type Clock, KernelError, type LeaseStore, type ThreadRef } from '@troupe/kernel'
import { abortScope, sleep, untilAborted } from '@troupe/kernel/kit'
import type { RunControl } from '@troupe/kernel/run'
import type { LocalRuns } from './local-runs.ts'

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
  /** Asks the run that holds the thread to stop. */
  cancel(ref: ThreadRef, runId: string | undefined): Promise<unknown>
}

/** The lease of one run on its thread. */
export class ThreadLease {
  readonly token: number
  /** The cancel that was asked of the run before its process died. */
  readonly cancel: CancelMode | undefined
  readonly #ref: ThreadRef
  readonly #options: LeaseOptions
  #renewedAt: number
  #renewing = false

  private constructor(ref: ThreadRef, taken: { token: number; cancel?: CancelMode }, options: LeaseOptions) {
    this.#ref = ref
    this.token = taken.token
    this.cancel = taken.cancel
    this.#options = options
    this.#renewedAt = options.clock.now()
  }

  /** Acquires the lease. Contract: rejects with `THREAD_BUSY`, at once or after `queueMs`. */
  static async acquire(ref: ThreadRef, runId: string, options: LeaseOptions, run: RunControl): Promise<ThreadLease> {
    const { leases, leaseMs, busy, local, clock, queueMs } = options
    const take = async () => new ThreadLease(ref, await leases.acquire(ref, { runId, ttlMs: leaseMs }), options)
    if (busy === 'reject') return take()
    const { signal } = run
    const deadline = clock.now() + queueMs
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
    const { leases, clock, leaseMs } = this.#options
    const now = clock.now()
    if (this.#renewing) return this.#wait(undefined)
    this.#renewing = true
    try {
      const { cancel } = await leases.renew(this.#ref, this.token, leaseMs)
      this.#renewedAt = now
      return cancel
    } catch (cause) {
      if (KernelError.is(cause, 'LEASE_LOST')) throw cause
      return this.#wait(cause)
    } finally {
      this.#renewing = false
    }
  }

  #wait(cause: unknown): undefined {
    const { clock, leaseMs } = this.#options
    if (clock.now() - this.#renewedAt < leaseMs) return undefined
    const message = `run: the lease of thread ${this.#ref.threadId} could not be renewed`
    throw new KernelError('LEASE_LOST', message, { cause })
  }

  release(): Promise<void> {
    return this.#options.leases.release(this.#ref, this.token)
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
      const left = deadline - clock.now()
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
