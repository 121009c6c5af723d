import type { Json, State } from '@troupe/kernel'

/** The state of a branch: its own changes over the state that it shares with other branches. */
export class OverlayState implements State {
  readonly #base: State
  readonly #written: Map<string, Json | undefined> = new Map()

  constructor(base: State) {
    this.#base = base
  }

  get(key: string): Json | undefined {
    return this.#written.has(key) ? this.#written.get(key) : this.#base.get(key)
  }

  set(key: string, value: Json): void {
    this.#written.set(key, value)
  }

  delete(key: string): void {
    this.#written.set(key, undefined)
  }

  *keys(): Generator<string> {
    for (const key of this.#base.keys()) if (!this.#written.has(key)) yield key
    for (const [key, value] of this.#written) if (value !== undefined) yield key
  }

  /** Writes all changes to the shared state. */
  merge(): void {
    for (const [key, value] of this.#written) {
      if (value === undefined) this.#base.delete(key)
      else if (this.#base.get(key) !== value) this.#base.set(key, value)
    }
  }
}
