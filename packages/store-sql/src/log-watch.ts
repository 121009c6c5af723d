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
  readonly log: number
  readonly wake: () => void
}

/** Where followers of run logs wait for news. Contract: looks at the database only while somebody waits and `polling` is on. */
export class LogWatch {
  readonly #options: LogWatchOptions
  readonly #waiting = new Set<Waiter>()
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

  /** Turned on, it wakes everybody once: what was written before may have been missed. */
  set polling(on: boolean) {
    if (on === this.#polling) return
    this.#polling = on
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.tellAll()
  }

  /**
   * Begins to listen for a change of a log. Contract: what is told from now on resolves `changed`, as do the abort and the end of
   * the store; `disarm` leaves nothing behind, neither here nor on the signal.
   */
  arm(log: number, signal: AbortSignal): { readonly changed: Promise<void>; readonly disarm: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { log, wake: resolve }
    const disarm = () => {
      this.#waiting.delete(waiter)
      signal.removeEventListener('abort', resolve as () => void)
      if (this.#waiting.size > 0) return
      this.#cancelTimer?.()
      this.#cancelTimer = undefined
    }
    this.#waiting.add(waiter)
    signal.addEventListener('abort', resolve as () => void)
    if (this.#closed || signal.aborted) resolve()
    this.#schedule()
    this.#options.awaited?.()
    return { changed: promise, disarm }
  }

  /** Wakes those who follow these logs. */
  tell(logs: readonly number[]): void {
    for (const { log, wake } of this.#waiting) if (logs.includes(log)) wake()
  }

  tellAll(): void {
    for (const { wake } of this.#waiting) wake()
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.tellAll()
  }

  #schedule(): void {
    if (!this.#polling || this.#closed || this.#cancelTimer || this.#waiting.size === 0) return
    const { clock, everyMs } = this.#options
    // It holds the process: somebody is waiting.
    this.#cancelTimer = clock.after(everyMs, () => void this.#look(), true)
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
