import type { Clock } from '@troupe/kernel'
import { elapsedBy } from '@troupe/kernel/kit'

/** Measures an agent's working time, can be paused, and calls back at a limit. */
export class Stopwatch {
  readonly #clock: Clock
  #elapsed = 0
  #since: number | undefined
  #running = false
  #pauses = 0
  #limitMs = Number.POSITIVE_INFINITY
  #onLimit: (() => void) | undefined
  #cancel: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get elapsedMs(): number {
    const running = this.#since === undefined ? 0 : elapsedBy(this.#clock) - this.#since
    return this.#elapsed + Math.round(running)
  }

  /** Sets the time used before a resume. */
  set elapsedMs(ms: number) {
    this.#elapsed = ms
  }

  start(limitMs: number, onLimit: () => void): void {
    this.#limitMs = limitMs
    this.#onLimit = onLimit
    this.#running = true
    if (this.#pauses === 0) this.#go()
  }

  stop(): void {
    this.#halt()
    this.#running = false
  }

  /** Pauses until the returned function is called; overlapping pauses end with the last. */
  pause(): () => void {
    if (this.#pauses++ === 0) this.#halt()
    let over = false
    return () => {
      if (over) return
      over = true
      if (--this.#pauses === 0 && this.#running) this.#go()
    }
  }

  #go(): void {
    this.#since = elapsedBy(this.#clock)
    const left = this.#limitMs - this.#elapsed
    if (left === Number.POSITIVE_INFINITY) return
    this.#cancel = this.#clock.after(Math.max(0, left), () => this.#onLimit?.())
  }

  #halt(): void {
    this.#elapsed = this.elapsedMs
    this.#since = undefined
    this.#cancel?.()
    this.#cancel = undefined
  }
}
