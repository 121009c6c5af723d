import { KernelError, type RunLogStore, type ThreadRef } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { readRunLog } from '../log/read-run-log.ts'
import type { AgUiEvent } from '../protocol.ts'

/** The events in the log of a run so far; none if there is no log. */
export function loggedEvents(log: RunLogStore, ref: ThreadRef, runId: string): Promise<readonly AgUiEvent[]>
/** Contract: undefined if they have more than `most` characters. */
export function loggedEvents(
  log: RunLogStore,
  ref: ThreadRef,
  runId: string,
  most: number,
): Promise<readonly AgUiEvent[] | undefined>
export async function loggedEvents(
  log: RunLogStore,
  ref: ThreadRef,
  runId: string,
  most?: number,
): Promise<readonly AgUiEvent[] | undefined> {
  const events: AgUiEvent[] = []
  const { signal } = new AbortController()
  let size = 0
  try {
    for await (const batch of readRunLog(log, ref, runId, { live: false, signal })) {
      for (const { event } of batch) {
        if (most !== undefined) size += jsonLength(event, most)
        if (most !== undefined && size > most) return undefined
        events.push(event)
      }
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return events
}
