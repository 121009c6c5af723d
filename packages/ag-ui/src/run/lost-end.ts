import { KernelError, type RunLogStore, type ThreadRef } from '@troupe/kernel'
import type { Logged } from '../log/logged.ts'
import { readRunLog } from '../log/read-run-log.ts'
import { sortedText } from './append-to-log.ts'
import type { Tail } from './tail.ts'

/**
 * The events that a log has lost with its database server, which may not have had them on its disk yet.
 * Contract: undefined unless the log has what its writer wrote up to there, and nothing else.
 */
export async function lostEnd(
  log: RunLogStore,
  { ref, runId }: { readonly ref: ThreadRef; readonly runId: string },
  tail: Tail,
): Promise<readonly Logged[] | undefined> {
  const written = tail.kept
  const [first] = written
  if (!first) return undefined
  const { signal } = new AbortController()
  let there = 0
  try {
    for await (const batch of readRunLog(log, ref, runId, { after: first.seq - 1, live: false, signal })) {
      for (const { event } of batch) if (sortedText(event) !== sortedText(written[there++]?.event)) return undefined
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  const isOurs = there > 0 || first.seq === 1
  return isOurs && there < written.length ? written.slice(there) : undefined
}
