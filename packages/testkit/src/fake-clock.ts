import type { Clock } from '@troupe/kernel'

/** A clock that stands still until `advance` is called. */
export interface FakeClock extends Clock {
  elapsed(): number
  /** Contract: calls back what falls due on the way, in order of time, each at its own moment. */
  advance(ms: number): void
  /** Sets the time of day, as an administrator does: nothing falls due, and no time has passed. */
  jump(ms: number): void
  /** Timers neither fired nor cancelled. */
  readonly pending: number
}

/** Makes a clock for tests, which starts at `start`. */
export function fakeClock(start: number = Date.UTC(2026, 0, 1)): FakeClock {
  let began = start
  let elapsed = 0
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>()
  return {
    now: () => began + elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      const timer = { at: elapsed + Math.max(0, ms), callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(ms) {
      const end = elapsed + ms
      for (;;) {
        // The sort is stable and the set keeps the order of insertion, so what falls due together fires in the order it was asked for.
        const [due] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
        if (!due) break
        timers.delete(due)
        elapsed = due.at
        due.callback()
      }
      elapsed = end
    },
    jump(ms) {
      began += ms
    },
    get pending() {
      return timers.size
    },
  }
}
