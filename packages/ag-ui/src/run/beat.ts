import type { Clock } from '@troupe/kernel'

/** How often the runs of a process write their logs. */
const BEAT_MS = 20

/** The moments at which the runs of a process write their logs, the same for all, so that a store can write them together. */
export class Beat {
  readonly #clock: Clock
  readonly #waiting: Set<() => void> = new Set()
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back at the next moment. Contract: the returned function ends the wait; without waiters there is no timer. */
  next(callback: () => void): () => void {
    this.#waiting.add(callback)
    this.#cancelTimer ??= this.#clock.after(BEAT_MS - (this.#clock.now() % BEAT_MS), () => this.#beat())
    return () => {
      this.#waiting.delete(callback)
      if (this.#waiting.size > 0) return
      this.#cancelTimer?.()
      this.#cancelTimer = undefined
    }
  }

  #beat(): void {
    this.#cancelTimer = undefined
    const due = [...this.#waiting]
    this.#waiting.clear()
    for (const callback of due) callback()
  }
}
