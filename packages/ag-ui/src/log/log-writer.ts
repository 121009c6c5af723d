import { type Clock, type Json, KernelError, type RunLogStore, type ThreadRef } from '@troupe/kernel'

/** Pauses before a batch is offered again to a store that is down for a moment. */
const PAUSES_MS = [50, 250, 1_000, 3_000]

/** Where a run is written. */
export interface LogPlace {
  readonly log: RunLogStore
  readonly ref: ThreadRef
  readonly runId: string
  readonly clock: Clock
}

/**
 * Appends to a run log, again if the store is down for a moment.
 * Contract: gives the last sequence; a batch is in the log once, also where the first answer of the store was lost.
 */
export async function appendTo(
  { log, ref, runId, clock }: LogPlace,
  after: number,
  events: readonly Json[],
  close: boolean,
): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await log.append(ref, runId, after, events, close)
    } catch (error) {
      if (attempt > 0 && KernelError.is(error, 'VERSION_CONFLICT')) {
        if (await isThere(log, ref, runId, after, events)) return after + events.length
        throw error
      }
      const pause = PAUSES_MS[attempt]
      if (pause === undefined || !KernelError.is(error) || !error.retryable) throw error
      await new Promise<void>((resolve) => void clock.after(pause, resolve))
    }
  }
}

/** Whether a batch whose answer was lost had been written. */
async function isThere(
  log: RunLogStore,
  ref: ThreadRef,
  runId: string,
  after: number,
  events: readonly Json[],
): Promise<boolean> {
  const found: Json[] = []
  const { signal } = new AbortController()
  for await (const batch of log.follow(ref, runId, { after, live: false, signal })) {
    for (const { event } of batch) found.push(event)
  }
  // A database may keep the keys of an object in another order, so their sorted texts are compared.
  return found.length === events.length && events.every((event, i) => textOf(event) === textOf(found[i] as Json))
}

function textOf(value: Json): string {
  return JSON.stringify(value, (_, item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
