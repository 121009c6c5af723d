import type { Clock } from '@troupe/kernel'

/** Resolves like the promise, or with undefined if it takes longer than `ms`; no `ms` means no limit. Contract: leaves no timer behind. */
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
