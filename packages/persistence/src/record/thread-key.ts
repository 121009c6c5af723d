import type { ThreadRef } from '@troupe/kernel'

/** Joins the ids of a thread into one key. */
export function threadKey({ app, user, threadId }: ThreadRef): string {
  return `${app}\0${user}\0${threadId}`
}

/** Joins the ids of a thread and a run into one key. */
export function runKey(ref: ThreadRef, runId: string): string {
  return `${threadKey(ref)}\0${runId}`
}
