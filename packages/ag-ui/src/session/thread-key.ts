import type { ThreadRef } from '@troupe/kernel'

/** A thread, or something in it, as the key of a map. Contract: unique per owner, whatever characters the names contain. */
export function threadKey({ app, user, threadId }: ThreadRef, ...more: readonly string[]): string {
  return JSON.stringify([app, user, threadId, ...more])
}
