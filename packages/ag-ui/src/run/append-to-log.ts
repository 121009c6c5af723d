import { type Clock, type Json, KernelError, type RunLogStore, type ThreadRef } from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'
import type { Logged } from '../log/logged.ts'
import { readRunLog } from '../log/read-run-log.ts'

/** Pauses between attempts to write a batch while the store is unavailable: a run that has begun waits nearly as long as its lease lives. */
const PAUSES_MS = [50, 250, 1_000, 3_000, 5_000, 5_000, 5_000, 5_000]
/** How many of them there are for a run that has not begun: its client can send it again. */
const BEFORE_BEGIN = 4

/**
 * Appends to a run log and retries while the store is unavailable.
 * Contract: returns the last sequence; a batch is in the log once, even if the store's first answer was lost.
 */
export async function appendToLog(
  log: RunLogStore,
  { ref, runId }: { readonly ref: ThreadRef; readonly runId: string },
  clock: Clock,
  after: number,
  logged: readonly Logged[],
  close: boolean,
): Promise<number> {
  const events = logged.map(({ event }) => event as unknown as Json)
  const texts = logged.map(({ event, json }) => json ?? JSON.stringify(event))
  const pauses = pausesFrom(after)
  for (let attempt = 0; ; attempt++) {
    try {
      return await log.append(ref, runId, after, events, close, texts)
    } catch (error) {
      if (attempt > 0 && KernelError.is(error, 'VERSION_CONFLICT')) {
        if (await isThere(log, ref, runId, after, events)) return after + events.length
        throw error
      }
      const pause = pauses[attempt]
      if (pause === undefined || !KernelError.is(error) || !error.retryable) throw error
      await sleep(clock, pause)
    }
  }
}

function pausesFrom(after: number): readonly number[] {
  return after === 0 ? PAUSES_MS.slice(0, BEFORE_BEGIN) : PAUSES_MS
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
  for await (const batch of readRunLog(log, ref, runId, { after, live: false, signal })) {
    for (const { event } of batch) found.push(event as unknown as Json)
  }
  // A database may keep the keys of an object in another order, so their sorted texts are compared.
  return found.length === events.length && events.every((event, i) => sortedText(event) === sortedText(found[i]))
}

/** The JSON of a value with its keys in order; nothing for no value. */
export function sortedText(value: unknown): string | undefined {
  return JSON.stringify(value, (_, item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
