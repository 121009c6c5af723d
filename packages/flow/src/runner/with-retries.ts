import { type Clock, KernelError } from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'

const ATTEMPTS = 3

/** Writes to a store, again if an error is marked as retryable. */
export function withRetries<T>(clock: Clock, work: () => Promise<T>, attempt = 1): Promise<T> {
  return work().catch(async (error: unknown) => {
    if (attempt === ATTEMPTS || !KernelError.is(error) || !error.retryable) throw error
    await sleep(clock, 100 * attempt)
    return withRetries(clock, work, attempt + 1)
  })
}
