import { EventType } from '@ag-ui/core'
import type { RunLogStore, ThreadRef } from '@troupe/kernel'
import { readRunLog } from '../log/read-run-log.ts'
import type { AgUiEvent } from '../protocol.ts'

const NAME = 'run-continued'

/** Tells readers that another process goes on with the run from here. */
export const RUN_CONTINUED: AgUiEvent = { type: EventType.CUSTOM, name: NAME, value: {} }

/** Whether another process goes on with a run after a position in its log: then its readers are not told that it ended. */
export async function isContinued(
  log: RunLogStore,
  { ref, runId }: { readonly ref: ThreadRef; readonly runId: string },
  after: number,
): Promise<boolean> {
  const { signal } = new AbortController()
  try {
    for await (const batch of readRunLog(log, ref, runId, { after, live: false, signal })) {
      if (batch.some(({ event }) => isMark(event))) return true
    }
  } catch {
    // A log that cannot be read is treated as one that cannot be written.
  }
  return false
}

function isMark(event: AgUiEvent): boolean {
  return event.type === EventType.CUSTOM && event.name === NAME
}
