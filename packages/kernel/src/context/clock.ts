/** Time. Contract: for limits, retry pauses and timestamps only, so that what stands between two calls can be replayed. */
export interface Clock {
  now(): number
  /** Calls back once unless cancelled. Contract: holds the process until then, because somebody waits for it; `hold: false` is for what merely keeps house. @default true */
  after(ms: number, callback: () => void, hold?: boolean): () => void
}

/** A longer timer would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/** The machine's own time. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: this is where time comes from
  now: () => Date.now(),
  after(ms, callback, hold = true) {
    // biome-ignore lint/plugin: this is where time comes from
    const timer = setTimeout(callback, Math.min(ms, LONGEST_MS))
    // In a browser a timer is a number.
    if (!hold) timer.unref?.()
    return () => clearTimeout(timer)
  },
}
