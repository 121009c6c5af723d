/** How long a change waits at most, because a page in the background has no frames. */
const LONGEST_MS = 250

/** Tells listeners about changes. Contract: at most once per frame, unless a change is told at once. */
export class Publisher {
  readonly #listeners = new Set<() => void>()
  readonly #before: () => void
  #cancel: (() => void) | undefined

  /** `before` is called before the listeners are. */
  constructor(before: () => void) {
    this.#before = before
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tells with the next frame. */
  soon(): void {
    if (this.#cancel) return
    const frame = globalThis.requestAnimationFrame?.(() => this.now())
    const timer = setTimeout(() => this.now(), frame === undefined ? 0 : LONGEST_MS)
    this.#cancel = () => {
      clearTimeout(timer)
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }

  /** Tells at once, so that what a person does is seen without a flicker. */
  now(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#before()
    for (const listener of this.#listeners) listener()
  }
}
