import type { Thread } from '@troupe/kernel'
import { readCompacted } from './compacted.ts'
import { SUMMARY_KEY } from './place.ts'

/**
 * The message that a compacted thread is shown from, for the `history` of a runner: it loads the thread from there on.
 * @example runner({ agent, store, history: { from: compactedFrom } })
 */
export function compactedFrom({ state }: Pick<Thread, 'state'>): string | undefined {
  return readCompacted(state[SUMMARY_KEY])?.cut
}
