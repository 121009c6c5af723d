import { KernelError, type RunLogStore, type ThreadRef } from '@troupe/kernel'
import { readRunLog } from '../log/read-run-log.ts'
import type { AgUiEvent } from '../protocol.ts'

/** The events in the log of a run so far, after a sequence; none if there is no log. */
export async function loggedEvents(
  log: RunLogStore,
  ref: ThreadRef,
  runId: string,
  after = 0,
): Promise<readonly AgUiEvent[]> {
  const events: AgUiEvent[] = []
  const { signal } = new AbortController()
  try {
    for await (const batch of readRunLog(log, ref, runId, { after, live: false, signal })) {
      for (const { event } of batch) events.push(event)
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return events
}
