/** A promise that never settles. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}

/**
 * Lets a function give its result only as long as an attempt lives.
 * Contract: a caller that calls it after the attempt was given up, or waits for it then, waits for ever, so that a replaced attempt stands still: an abort
 * would run its end, which callbacks and tools would take for the end of the run.
 */
export function whileAlive<Args extends readonly unknown[], T>(
  gone: AbortSignal,
  work: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    if (gone.aborted) return never()
    try {
      const value = await work(...args)
      return gone.aborted ? never() : value
    } catch (error) {
      if (gone.aborted) return never()
      throw error
    }
  }
}
