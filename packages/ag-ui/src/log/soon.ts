import type { Clock } from '@troupe/kernel'

/** What a promise gives, or undefined if it takes longer than `ms`; without a limit, the promise. Contract: leaves no timer behind. */
export function soon<T>(promise: Promise<T>, ms: number | undefined, clock: Clock): Promise<T | undefined> {
  if (ms === undefined) return promise
  return new Promise((resolve, reject) => {
    const giveUp = clock.after(ms, () => resolve(undefined))
    promise.then(
      (value) => {
        giveUp()
        resolve(value)
      },
      (error: unknown) => {
        giveUp()
        reject(error)
      },
    )
  })
}
