import type { ThreadRef } from '../data/thread-ref.ts'

/**
 * Large texts of a thread, such as results of tools, which its messages only name.
 * Contract: a text goes where the messages go: it is deleted with the thread; a branch reads what was written before the last message that it
 * shares, as it was then, also when its source is gone.
 */
export interface BlobStore {
  /** Contract: a second text of the same id replaces the first; `NOT_FOUND` for an unknown thread. */
  put(ref: ThreadRef, id: string, text: string): Promise<void>
  /** The text as it was written; undefined if the thread has none of this id. */
  get(ref: ThreadRef, id: string): Promise<string | undefined>
}
