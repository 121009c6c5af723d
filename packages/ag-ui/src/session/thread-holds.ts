import { type Clock, KernelError, type LeaseStore, type ThreadRef } from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'
import { threadKey } from './thread-key.ts'

/** How long a hold outlives a lost process, and how often it is renewed. */
const LEASE_MS = 30_000
const RENEW_MS = 10_000
/** How long one hold waits for another; they are short. */
const WAIT_MS = 2_000
const PAUSE_MS = 20

const MARK = 'session:'

/** Whether the holder of a thread is a session manager, not a run. */
export function isHold(holder: unknown): boolean {
  return typeof holder === 'string' && holder.startsWith(MARK)
}

/** The id of the run that holds a thread; undefined if there is none. */
export function runningIn(thread: { readonly runId?: unknown } | undefined): string | undefined {
  const runId = thread?.runId
  return typeof runId !== 'string' || isHold(runId) ? undefined : runId
}

/** Whether a thread is busy because of a short write between runs. */
export function isHeldBetweenRuns(error: unknown): boolean {
  return KernelError.is(error, 'THREAD_BUSY') && isHold(error.details.runId)
}

/** Retries while a thread is held between runs, for at most two seconds. */
export async function pastHolds<T>(clock: Clock, attempt: () => Promise<T>): Promise<T> {
  const deadline = clock.now() + WAIT_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!isHeldBetweenRuns(error) || clock.now() >= deadline) throw error
      await sleep(clock, PAUSE_MS)
    }
  }
}

/** Holds threads for writes between runs. */
export class ThreadHolds {
  readonly #leases: LeaseStore
  readonly #clock: Clock
  readonly #lines: Map<string, Promise<void>> = new Map()

  constructor(leases: LeaseStore, clock: Clock) {
    this.#leases = leases
    this.#clock = clock
  }

  /** Does work under a short lease. Contract: one at a time per thread in this process; `THREAD_BUSY` while a run holds the thread. */
  async hold<T>(ref: ThreadRef, work: (hold: Hold) => Promise<T>): Promise<T> {
    const key = threadKey(ref)
    const result = (this.#lines.get(key) ?? Promise.resolve()).then(() => this.#leased(ref, work))
    const settled = result.then(
      () => undefined,
      () => undefined,
    )
    this.#lines.set(key, settled)
    try {
      return await result
    } finally {
      if (this.#lines.get(key) === settled) this.#lines.delete(key)
    }
  }

  async #leased<T>(ref: ThreadRef, work: (hold: Hold) => Promise<T>): Promise<T> {
    const holder = { runId: `${MARK}${crypto.randomUUID()}`, ttlMs: LEASE_MS }
    const { token } = await pastHolds(this.#clock, () => this.#leases.acquire(ref, holder))
    const stop = this.#keep(ref, token)
    try {
      return await work({
        token,
        confirm: async () => void (await this.#leases.renew(ref, token, LEASE_MS)),
      })
    } finally {
      stop()
      await this.#leases.release(ref, token)
    }
  }

  #keep(ref: ThreadRef, token: number): () => void {
    let cancel = () => {}
    // A failed renewal is ignored: `confirm` checks the lease before any step that cannot be undone.
    const renew = () => void this.#leases.renew(ref, token, LEASE_MS).then(again, () => undefined)
    const again = () => {
      cancel = this.#clock.after(RENEW_MS, renew, false)
    }
    again()
    return () => cancel()
  }
}

/** A lease on a thread between runs. */
interface Hold {
  readonly token: number
  /** Contract: rejects with `LEASE_LOST` if another holder has the thread now. */
  confirm(): Promise<void>
}
