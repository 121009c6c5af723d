import type { Awaitable, Clock } from '@troupe/kernel'

/** The options of a watch. */
interface LogWatchOptions {
  readonly clock: Clock
  /** How often to check for writes of other processes. */
  readonly everyMs: number
  /** Whether anything may have changed since the last check. */
  readonly changed: () => Awaitable<boolean>
  /** Called whenever a follower begins to wait. */
  readonly awaited?: () => void
}

/** A waiting follower. */
interface Waiter {
  readonly wake: () => void
  readonly leave: () => void
}

/** A registered wait for a change. */
interface Armed {
  /** Resolves when the log may have changed, and when `left` does. */
  readonly changed: Promise<void>
  /** Resolves when the signal aborts or the store ends. */
  readonly left: Promise<void>
  /** Ends the wait. Contract: leaves no listener on the watch or the signal. */
  readonly disarm: () => void
}

/** Wakes followers when their run log changes. Contract: polls the database only while a follower waits and `polling` is on. */
export class LogWatch {
  readonly #options: LogWatchOptions
  /** By log id. */
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

  /** Whether a follower waits. */
  get awaited(): boolean {
    return this.#waiting.size > 0
  }

  /** Turns polling on or off. A change wakes all followers once, because a write in between may have been missed. */
  set polling(on: boolean) {
    if (on === this.#polling) return
    this.#polling = on
    this.#stopTimer()
    this.notifyAll()
  }

  /** Begins to wait for a change of a log. Contract: no `notify` from now on is missed. */
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

  /** Wakes the followers of these logs. */
  notify(logs: readonly number[]): void {
    for (const log of logs) for (const { wake } of this.#waiting.get(log) ?? []) wake()
  }

  notifyAll(): void {
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
    this.#cancelTimer = clock.after(everyMs, () => void this.#poll())
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  async #poll(): Promise<void> {
    const timer = this.#cancelTimer
    // A failed check wakes all followers too: their own read throws the error.
    const changed = await Promise.resolve()
      .then(() => this.#options.changed())
      .catch(() => true)
    if (this.#cancelTimer !== timer) return
    this.#cancelTimer = undefined
    if (changed) this.notifyAll()
    this.#schedule()
  }
}
