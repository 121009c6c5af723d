import { type Clock, KernelError } from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'

const ATTEMPTS = 3

/** Writes to a store, again if an error is marked as retryable. */
export async function withRetries<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !KernelError.is(error) || !error.retryable) throw error
      await sleep(clock, 100 * attempt)
    }
  }
}
