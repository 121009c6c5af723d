import type { ThreadRef } from '@troupe/kernel'

/** Joins the ids of a thread into one key. Contract: different threads have different keys, whatever their ids contain. */
export function threadKey({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}

/** Joins the ids of a thread and a run into one key. */
export function runKey(ref: ThreadRef, runId: string): string {
  return JSON.stringify([threadKey(ref), runId])
}
