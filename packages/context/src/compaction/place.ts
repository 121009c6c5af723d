import type { RunContext } from '@troupe/kernel'

/** The key of the state under which a thread keeps what was cut off. */
export const SUMMARY_KEY = 'context:summary'
/** The key under which it is noted that the last call was too large, with its tokens. */
const DUE_KEY = 'context:due'

/** Where one run keeps what it has cut off. */
export interface Place {
  readonly summary: string
  readonly due: string
  /** Where what was cut off before the run is, if it has cut off nothing itself. */
  readonly inherited?: string
}

/**
 * Where a run keeps what it cuts off: with the thread, so that the next run begins there.
 * Contract: a nested run has a history of its own, and a branch of a parallel workflow does not see what the others say meanwhile; what they cut off lasts for the run.
 */
export function placeOf({ depth, origin, step }: RunContext, branch: string | undefined): Place {
  if (depth === 0 && branch === undefined) return OF_THREAD
  const name = `${origin}:${branch ?? step}`
  const own = { summary: `temp:${SUMMARY_KEY}:${name}`, due: `temp:${DUE_KEY}:${name}` }
  return depth === 0 ? { ...own, inherited: SUMMARY_KEY } : own
}

const OF_THREAD: Place = { summary: SUMMARY_KEY, due: DUE_KEY }
