/** Source of time. Contract: used only for limits, retry pauses and timestamps, so that the code between two calls can be replayed. */
export interface Clock {
  now(): number
  /** Milliseconds since any moment, which nobody sets: for durations of real time, such as that of a lease. @default `now` */
  elapsed?(): number
  /** Calls back once unless cancelled. Contract: keeps the process alive until then; pass `hold: false` for housekeeping. @default true */
  after(ms: number, callback: () => void, hold?: boolean): () => void
}

/** A longer timer would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/** The system clock. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: this is where time comes from
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback, hold = true) {
    // biome-ignore lint/plugin: this is where time comes from
    const timer = setTimeout(callback, Math.min(ms, LONGEST_MS))
    // In a browser a timer is a number.
    if (!hold) timer.unref?.()
    return () => clearTimeout(timer)
  },
}

/** The time that has passed since any moment, by a clock that may not measure it. */
export function elapsedBy(clock: Pick<Clock, 'now' | 'elapsed'>): number {
  return clock.elapsed?.() ?? clock.now()
}
