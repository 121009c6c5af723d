import type { RunContext } from '@troupe/kernel'

/** The key of the state under which a thread keeps what was cut off. */
export const SUMMARY_KEY = 'context:summary'
/** The key under which it is noted that the last call was too large, with its tokens. */
const DUE_KEY = 'context:due'

/** Where one run keeps what it has cut off. */
export interface Place {
  readonly summary: string
  readonly due: string
  /** Whether it lasts, for the runs that follow. */
  readonly lasts: boolean
}

/**
 * Where a run keeps what it cuts off: with the thread, so that the next run begins there.
 * Contract: a nested run has a history of its own, and a branch of a parallel workflow does not see what the others say meanwhile; what they cut off lasts for the run.
 */
export function placeOf({ depth, origin, step }: RunContext): Place {
  if (depth === 0 && !/(?:^|\/)branch:\d/.test(step)) return { summary: SUMMARY_KEY, due: DUE_KEY, lasts: true }
  const name = `${origin}:${step}`
  return { summary: `temp:${SUMMARY_KEY}:${name}`, due: `temp:${DUE_KEY}:${name}`, lasts: false }
}
