import type { Owner } from '../data/thread-ref.ts'

/** Something that is remembered about an owner, across threads. Contract: plain JSON. */
export type Fact = {
  /** Its place among the facts of its owner. Contract: assigned by the store and not given again. */
  readonly seq: number
  readonly text: string
  /** When it was noted; milliseconds since the epoch. */
  readonly at: number
}

/**
 * The facts that are remembered about each owner.
 * Contract: an owner neither sees, finds nor changes those of another one, and those of others do not influence what it finds. They belong to no thread.
 */
export interface FactStore {
  /** Keeps a fact. Contract: a text that the owner has is not kept again, and its fact is returned as it is; an owner keeps the newest 1,000; `embedding` is for `near`. */
  add(
    owner: Owner,
    fact: { readonly text: string; readonly at: number; readonly embedding?: readonly number[] },
  ): Promise<Fact>
  /** Contract: pages are as those of threads, by `seq`. */
  list(
    owner: Owner,
    page?: { readonly after?: number; readonly limit?: number; readonly newestFirst?: boolean },
  ): Promise<readonly Fact[]>
  /** The facts that have one of the `searchTerms` of a text among their `factTerms`, the best first, as `rankFacts` orders them. */
  search(owner: Owner, query: { readonly text: string; readonly limit: number }): Promise<readonly Fact[]>
  /** The facts whose embeddings are nearest to this one by their angle, the nearest first. Contract: leaves out facts without an embedding, and those of another length. */
  near(owner: Owner, query: { readonly embedding: readonly number[]; readonly limit: number }): Promise<readonly Fact[]>
  /** Forgets facts, or all with `'all'`, and returns how many were there. Contract: no call gives them again, and the store deletes their texts, words and embeddings; when the bytes on the disk are overwritten depends on the database. */
  forget(owner: Owner, seqs: readonly number[] | 'all'): Promise<number>
}
