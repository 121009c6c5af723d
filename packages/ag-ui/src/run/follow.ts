import type { Logged } from '../log/logged.ts'
import { readRunLog } from '../log/read-run-log.ts'
import { type Following, followLog } from './follow-log.ts'
import type { Tail } from './tail.ts'

/**
 * Follows a run from a position in its log, in whichever process it runs.
 * Contract: only logged events, without gap or duplicate, but for the terminal of a log that cannot be written; ends after the terminal, or quietly when the signal aborts.
 */
export async function* follow(options: Following): AsyncGenerator<readonly Logged[], void> {
  const { executions, ref, runId, signal } = options
  const log = executions.find(ref, runId)?.log
  let after = options.after
  while (log && !log.lost && !signal.aborted) {
    const { closed } = log.tail
    const some = log.tail.since(after)
    if (some === undefined) after = yield* catchUp(options, after, log.tail)
    else if (some.length > 0) {
      after = some.at(-1)?.seq ?? after
      yield some
    } else if (closed) return
    else await log.tail.changed(signal)
  }
  if (signal.aborted) return
  if (!log?.unstored) return yield* followLog({ ...options, after })
  if (after < log.tail.last) after = yield* rest(options, after, log.tail)
  if (!signal.aborted) yield [{ seq: after, event: log.unstored }]
}

/** The logged events that a follower does not have. */
async function* rest(options: Following, after: number, tail: Tail): AsyncGenerator<readonly Logged[], number> {
  const last = tail.since(after) ? after : yield* catchUp(options, after, tail)
  const some = tail.since(last) ?? []
  if (some.length > 0) yield some
  return some.at(-1)?.seq ?? last
}

/** Reads the log until its tail has the rest; returns the last sequence. */
async function* catchUp(
  { store, ref, runId, signal }: Following,
  from: number,
  tail: Tail,
): AsyncGenerator<readonly Logged[], number> {
  let after = from
  for await (const batch of readRunLog(store.runLog, ref, runId, { after, live: false, signal })) {
    after = batch.at(-1)?.seq ?? after
    yield batch
    if (tail.since(after)) break
  }
  return after
}
