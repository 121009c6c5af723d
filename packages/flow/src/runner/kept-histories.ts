import type { Thread, ThreadRef } from '@troupe/kernel'
import type { StoredHistory } from './stored-history.ts'

interface Kept {
  readonly seq: number
  readonly version: number
  readonly history: StoredHistory
}

/**
 * Keeps the histories of threads as runs have stored them, so that the next run on a thread reads nothing.
 * Contract: gives a history only for the thread that it belongs to and the version that it had, because other processes write too; a thread that
 * was deleted and opened again has another `seq`. Drops the least recently used ones when all have more than `most` characters.
 */
export class KeptHistories {
  readonly #most: number
  readonly #kept: Map<string, Kept> = new Map()
  #chars = 0

  constructor(most: number) {
    this.#most = most
  }

  /** The history of a thread, if it is kept. */
  of({ ref, seq, version }: Thread): StoredHistory | undefined {
    const kept = this.#kept.get(keyOf(ref))
    if (kept?.seq !== seq || kept.version !== version) return undefined
    kept.history.index()
    return kept.history
  }

  keep({ ref, seq, version }: Thread, history: StoredHistory): void {
    const key = keyOf(ref)
    this.#drop(key)
    if (history.chars > this.#most) return
    this.#kept.set(key, { seq, version, history })
    this.#chars += history.chars
    for (const oldest of this.#kept.keys()) {
      if (this.#chars <= this.#most) return
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#chars -= this.#kept.get(key)?.history.chars ?? 0
    this.#kept.delete(key)
  }
}

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}
