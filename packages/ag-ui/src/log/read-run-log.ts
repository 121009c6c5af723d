import type { RunLogStore, ThreadRef } from '@troupe/kernel'
import type { Logged } from './logged.ts'
import { unpacked } from './packed-events.ts'

/**
 * Follows the log of a run, whether it was compacted or not.
 * Contract: the order, the errors and the end are those of `follow` of the store. A reader at any sequence gets what comes after it, without gap or
 * duplicate, also if the log is compacted meanwhile; of the states in a compacted log it gets the last one.
 * @example for await (const batch of readRunLog(store.runLog, ref, 'r1', { signal })) send(batch.map(({ event }) => event))
 */
export async function* readRunLog(
  log: Pick<RunLogStore, 'follow'>,
  ref: ThreadRef,
  runId: string,
  options: Parameters<RunLogStore['follow']>[2],
): AsyncGenerator<readonly Logged[], void> {
  let { after = 0 } = options
  for await (const batch of log.follow(ref, runId, options)) {
    const events = batch.flatMap(({ seq, event }) => unpacked(seq, event, after))
    after = batch.at(-1)?.seq ?? after
    if (events.length > 0) yield events
  }
}
