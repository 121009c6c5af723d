import type { Awaitable, Clock } from '@troupe/kernel'

/** What a watch is made of. */
export interface LogWatchOptions {
  readonly clock: Clock
  /** How often to look for what other processes wrote. */
  readonly everyMs: number
  /** Whether anything may have changed since it was last asked. */
  readonly changed: () => Awaitable<boolean>
  /** Called whenever somebody begins to wait. */
  readonly awaited?: () => void
}

/** A follower that waits. */
interface Waiter {
  readonly wake: () => void
  readonly leave: () => void
}

/** What a follower waits for. */
export interface Armed {
  /** Resolves when the log may have changed, and when `left` does. */
  readonly changed: Promise<void>
  /** Resolves when the signal aborts or the store ends. */
  readonly left: Promise<void>
  /** Contract: leaves nothing behind, neither here nor on the signal. */
  readonly disarm: () => void
}

/** Where followers of run logs wait for news. Contract: looks at the database only while somebody waits and `polling` is on. */
export class LogWatch {
  readonly #options: LogWatchOptions
  /** By log. */
  readonly #waiting = new Map<number, Set<Waiter>>()
  #cancelTimer: (() => void) | undefined
  #polling: boolean
  #closed = false

  constructor(options: LogWatchOptions, polling: boolean) {
    this.#options = options
    this.#polling = polling
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Whether anybody waits. */
  get awaited(): boolean {
    return this.#waiting.size > 0
  }

  /** Turned on or off, it wakes everybody once: what was written in between may have been missed. */
  set polling(on: boolean) {
    if (on === this.#polling) return
    this.#polling = on
    this.#stopTimer()
    this.tellAll()
  }

  /** Begins to listen for a change of a log. Contract: whatever is told from now on is not missed. */
  arm(log: number, signal: AbortSignal): Armed {
    const change = Promise.withResolvers<void>()
    const leaving = Promise.withResolvers<void>()
    const leave = () => {
      leaving.resolve()
      change.resolve()
    }
    const waiter: Waiter = { wake: change.resolve, leave }
    const waiters = this.#waiting.get(log) ?? new Set()
    this.#waiting.set(log, waiters.add(waiter))
    signal.addEventListener('abort', leave)
    if (this.#closed || signal.aborted) leave()
    this.#schedule()
    this.#options.awaited?.()
    const disarm = () => {
      signal.removeEventListener('abort', leave)
      waiters.delete(waiter)
      if (waiters.size === 0 && this.#waiting.get(log) === waiters) this.#waiting.delete(log)
      if (!this.awaited) this.#stopTimer()
    }
    return { changed: change.promise, left: leaving.promise, disarm }
  }

  /** Wakes those who follow these logs. */
  tell(logs: readonly number[]): void {
    for (const log of logs) for (const { wake } of this.#waiting.get(log) ?? []) wake()
  }

  tellAll(): void {
    for (const waiters of this.#waiting.values()) for (const { wake } of waiters) wake()
  }

  close(): void {
    this.#closed = true
    this.#stopTimer()
    for (const waiters of this.#waiting.values()) for (const { leave } of waiters) leave()
  }

  #schedule(): void {
    if (!this.#polling || this.#closed || this.#cancelTimer || !this.awaited) return
    const { clock, everyMs } = this.#options
    this.#cancelTimer = clock.after(everyMs, () => void this.#look())
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  async #look(): Promise<void> {
    const timer = this.#cancelTimer
    // A database that does not answer wakes everybody too: their own read will tell why.
    const changed = await Promise.resolve()
      .then(() => this.#options.changed())
      .catch(() => true)
    if (this.#cancelTimer !== timer) return
    this.#cancelTimer = undefined
    if (changed) this.tellAll()
    this.#schedule()
  }
}
