import type { Owner } from '../data/thread-ref.ts'

/** The permission that an answer with `always` gives: the calls of one tool by one agent run without a question. Contract: plain JSON. */
export type Grant = {
  /** Assigned by the store. */
  readonly id: string
  /** The identity of the caller: `a/b`; '' for the main agent. */
  readonly agent: string
  readonly tool: string
  /** The thread in which it holds; in all threads of its owner if absent. */
  readonly threadId?: string
  /** The rule that asked, as JSON; absent if the default asked. It holds for questions of this rule only. */
  readonly rule?: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * The permissions that each owner has given.
 * Contract: an owner neither sees nor changes those of another one. A grant for a thread goes where the content of the thread goes: it is
 * deleted with it, a branch does not have it, and a cut moves it to the other name.
 */
export interface GrantStore {
  /** All grants of an owner, oldest first; with a `threadId` those that hold in this thread. */
  list(owner: Owner, where?: { readonly threadId?: string }): Promise<readonly Grant[]>
  /** Contract: ignored if there is one for the same agent, tool, rule and thread; `NOT_FOUND` if its thread is not there. An owner keeps the newest 1,000. */
  add(owner: Owner, grant: Omit<Grant, 'id'>): Promise<void>
  /** Removes a grant and returns whether it was there. Contract: the next call asks again. */
  revoke(owner: Owner, id: string): Promise<boolean>
}
