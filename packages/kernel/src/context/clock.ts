/** Time. Contract: for limits, retry pauses and timestamps only, so that what stands between two calls can be replayed. */
export interface Clock {
  now(): number
  /** Calls back once unless cancelled; never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    // In a browser a timer is a number.
    timer.unref?.()
    return () => clearTimeout(timer)
  },
}
