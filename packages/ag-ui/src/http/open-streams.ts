import { KernelError, type Owner } from '@troupe/kernel'

/** Counts the open streams of each user in this process. */
export class OpenStreams {
  readonly #most: number
  readonly #counts: Map<string, number> = new Map()

  constructor(most: number) {
    this.#most = most
  }

  /** Contract: gives the function that ends the stream, which is called once; throws `USER_LIMIT` if the user has too many. */
  enter(owner: Owner): () => void {
    this.checkRoom(owner)
    const key = keyOf(owner)
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1
      if (left === 0) this.#counts.delete(key)
      else this.#counts.set(key, left)
    }
  }

  /** Contract: throws as `enter` does, for a request that begins something before its stream. */
  checkRoom(owner: Owner): void {
    if ((this.#counts.get(keyOf(owner)) ?? 0) < this.#most) return
    const message = 'You have too many streams open. Close one, or try again later.'
    throw new KernelError('USER_LIMIT', message, { retryable: true })
  }
}

function keyOf({ app, user }: Owner): string {
  return JSON.stringify([app, user])
}
