/** Time. Contract: for limits, retry pauses and timestamps only, so that what stands between two calls can be replayed. */
export interface Clock {
  now(): number
  /** Calls back once unless cancelled; never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

/** The machine's own time. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: this is where time comes from
  now: () => Date.now(),
  after(ms, callback) {
    // biome-ignore lint/plugin: this is where time comes from
    const timer = setTimeout(callback, ms)
    // In a browser a timer is a number.
    timer.unref?.()
    return () => clearTimeout(timer)
  },
}
