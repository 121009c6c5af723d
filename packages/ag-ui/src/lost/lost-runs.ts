import type { ThreadSummary } from '@troupe/kernel'
import { runningIn } from '../session/thread-holds.ts'

/** What happens to a run whose process is gone when somebody follows it: it is continued, it waits until a client asks for it, or it is ended. */
export type LostRuns = 'continue' | 'ask' | 'leave'

/** The run of a thread whose process is gone: its steps are stored, and no run holds the thread. */
export function lostRunOf(thread: ThreadSummary | undefined): string | undefined {
  return runningIn(thread) === undefined ? thread?.unfinished : undefined
}
