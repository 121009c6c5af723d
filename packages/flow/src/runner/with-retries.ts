import { type Clock, KernelError } from '@troupe/kernel'
import { elapsedBy, sleep } from '@troupe/kernel/kit'

/** Writes to a store, and again after an outage. */
export type StoreWrite = <T>(work: () => Promise<T>) => Promise<T>

const PAUSE_MS = { first: 100, most: 1_000 } as const
/** How long a run that has not begun is retried: its caller can send it again. */
const BRIEFLY_MS = 350

/** Writes to a store, again if an error is marked as retryable. Contract: throws the last error if the next attempt would come at `until` or later, by `elapsedBy(clock)`. */
export async function withRetries<T>(
  clock: Clock,
  work: () => Promise<T>,
  until: () => number = forMs(clock, BRIEFLY_MS),
): Promise<T> {
  for (let pause: number = PAUSE_MS.first; ; pause = Math.min(pause * 2, PAUSE_MS.most)) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || elapsedBy(clock) + pause >= until()) throw error
    }
    await sleep(clock, pause)
  }
}

/** Whether an error of a store may be over soon. */
export function isPassing(error: unknown): boolean {
  return KernelError.is(error) && error.retryable
}

function forMs(clock: Clock, ms: number): () => number {
  const end = elapsedBy(clock) + ms
  return () => end
}
