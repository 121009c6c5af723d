import type { Owner } from '../data/thread-ref.ts'

/** What is added to a counter. */
export type Count = {
  readonly name: string
  /** Contract: 0 reads the counter and does not make one. */
  readonly by: number
  /** When the counter begins again from 0; milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Numbers that several processes count together, by owner and name: what was spent, how often something was done.
 * Contract: an owner neither sees nor changes those of another one. A counter has expired at `expiresAt`, which each addition sets anew, and then counts as one that is not there.
 */
export interface CounterStore {
  /** Adds to counters and gives what each has then, in the order of `counts`. Contract: each addition is atomic; a name comes once in a call; a machine that breaks down may lose the last second. */
  add(owner: Owner, counts: readonly Count[]): Promise<readonly number[]>
  /** Maintenance, across owners: deletes counters that expired before `before`. Contract: gives how many were deleted, at most `limit`. */
  prune(query: { readonly before: number; readonly limit: number }): Promise<number>
}
