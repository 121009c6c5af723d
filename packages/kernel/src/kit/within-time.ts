import type { Clock } from '../context/clock.ts'

/**
 * Waits for work, but no longer than `ms`; after that it gives what `late` returns or throws.
 * Contract: leaves no timer behind; the work itself goes on, and a failure that comes too late is ignored.
 * @example const page = await withinTime(ctx.clock, 2_000, fetch(url), () => undefined)
 */
export function withinTime<T, Late>(clock: Clock, ms: number, work: Promise<T>, late: () => Late): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    })
    work.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error: unknown) => {
        cancel()
        reject(error)
      },
    )
  })
}
