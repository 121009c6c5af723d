import type { Json, JsonObject, State } from '@troupe/kernel'

/** The state of a run as one of its calls sees it: writes through, and knows the keys that the call has changed. */
export class CallState implements State {
  readonly #state: State
  readonly #changed: Set<string> = new Set()

  constructor(state: State) {
    this.#state = state
  }

  get(key: string): Json | undefined {
    return this.#state.get(key)
  }

  set(key: string, value: Json): void {
    this.#state.set(key, value)
    this.#changed.add(key)
  }

  delete(key: string): void {
    this.#state.delete(key)
    this.#changed.add(key)
  }

  keys(): Iterable<string> {
    return this.#state.keys()
  }

  /** The changed keys with their values now, which are those that the run goes on with. */
  changes(): { readonly set?: JsonObject; readonly removed?: readonly string[] } {
    const set: Record<string, Json> = {}
    const removed: string[] = []
    for (const key of this.#changed) {
      const value = this.#state.get(key)
      if (value === undefined) removed.push(key)
      else set[key] = value
    }
    return { ...(Object.keys(set).length > 0 && { set }), ...(removed.length > 0 && { removed }) }
  }
}
