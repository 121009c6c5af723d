import { KernelError, type LogEntry } from '@troupe/kernel'
import { abortScope, sleep } from '@troupe/kernel/kit'
import { type EventEntry, type EventLogPlace, eventLogId } from './event-log.ts'

/** How long a run is followed. */
export interface Following {
  readonly signal: AbortSignal
  /** Whether the engine is done with the run, so that nobody writes its log any more. */
  isOver(): Promise<boolean>
  release(): void
}

/** How long a reader waits for a store that is away. */
const AWAY_MS = 120_000
const PAUSE_MS = 200
/** How long a log may stand still until its reader asks whether somebody still writes it. */
const STILL_MS = 5_000

/**
 * Follows the log of a run until it is closed.
 * Contract: goes on after an outage of the store; ends without an error when the signal aborts; `NOT_FOUND` if the log has no end and nobody will write it.
 */
export async function* followEvents(
  place: EventLogPlace,
  { signal, isOver }: Pick<Following, 'signal' | 'isOver'>,
  after = 0,
): AsyncGenerator<EventEntry, void> {
  const position: Position = { after, awayMs: 0 }
  while (!signal.aborted) {
    try {
      if (yield* readOn(place, position, signal)) return
      if (await isOver().catch(() => false)) {
        // The last entries may have been written just before it was asked.
        return yield* readRest(place, position, signal)
      }
    } catch (error) {
      if (signal.aborted) return
      if (!KernelError.is(error) || !error.retryable || position.awayMs >= AWAY_MS) throw error
      position.awayMs += PAUSE_MS
      await sleep(place.clock, PAUSE_MS)
    }
  }
}

/** How far a reader is, and how long the store has been away. */
interface Position {
  after: number
  awayMs: number
}

/** Reads until the log is closed or stands still. Contract: gives whether it is closed. */
async function* readOn(
  { runLog, ref, runId, clock }: EventLogPlace,
  position: Position,
  signal: AbortSignal,
): AsyncGenerator<EventEntry, boolean> {
  using scope = abortScope(signal)
  let still = false
  const watch = () =>
    clock.after(STILL_MS, () => {
      still = true
      scope.abort(undefined)
    })
  let unwatch = watch()
  try {
    for await (const batch of runLog.follow(ref, eventLogId(runId), { after: position.after, signal: scope.signal })) {
      unwatch()
      yield* entriesOf(batch, position)
      unwatch = watch()
    }
    return !still
  } finally {
    unwatch()
  }
}

async function* readRest(
  { runLog, ref, runId }: EventLogPlace,
  position: Position,
  signal: AbortSignal,
): AsyncGenerator<EventEntry, void> {
  const log = runLog.follow(ref, eventLogId(runId), { after: position.after, live: false, signal })
  for await (const batch of log) yield* entriesOf(batch, position)
  throw new KernelError('NOT_FOUND', `run ${runId}: its events have no end; read what it did in its thread`)
}

function* entriesOf(batch: readonly LogEntry[], position: Position): Generator<EventEntry, void> {
  position.awayMs = 0
  for (const { seq, event } of batch) {
    position.after = seq
    yield event as unknown as EventEntry
  }
}
