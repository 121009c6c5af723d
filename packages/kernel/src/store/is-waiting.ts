import type { Thread } from './store.ts'

/** Whether a thread waits for a client: for the result of a call, or for the answer to a question that no run has taken. */
export function isWaiting({ openCalls, checkpoint }: Pick<Thread, 'openCalls' | 'checkpoint'>): boolean {
  return openCalls.length > 0 || (checkpoint !== undefined && checkpoint.resumedBy === undefined)
}
