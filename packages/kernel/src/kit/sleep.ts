import type { Clock } from '../context/clock.ts'

/**
 * Waits for a time.
 * Contract: rejects with the signal's reason when it aborts; leaves neither a timer nor a listener behind.
 * @example await sleep(ctx.clock, 500, ctx.signal)
 */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (!signal) return new Promise((resolve) => void clock.after(ms, resolve))
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const stop = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    signal.addEventListener('abort', stop, { once: true })
  })
}
