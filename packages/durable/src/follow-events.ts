import { KernelError } from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'
import { type EventEntry, type EventLogPlace, eventLogId } from './event-log.ts'

/** How long a reader waits for a store that is away. */
const AWAY_MS = 120_000
const PAUSE_MS = 200

/** Follows the log of a run until it is closed. Contract: goes on after an outage of the store; ends without an error when the signal aborts. */
export async function* followEvents(
  { runLog, ref, runId, clock }: EventLogPlace,
  signal: AbortSignal,
  from = 0,
): AsyncGenerator<EventEntry, void> {
  let after = from
  let awayMs = 0
  while (!signal.aborted) {
    try {
      for await (const batch of runLog.follow(ref, eventLogId(runId), { after, signal })) {
        awayMs = 0
        for (const { seq, event } of batch) {
          after = seq
          yield event as unknown as EventEntry
        }
      }
      return
    } catch (error) {
      if (signal.aborted) return
      if (!KernelError.is(error) || !error.retryable || awayMs >= AWAY_MS) throw error
    }
    awayMs += PAUSE_MS
    await sleep(clock, PAUSE_MS)
  }
}
