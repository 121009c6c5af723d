import type { State } from '../context/state.ts'
import type { Json, JsonObject } from '../data/json.ts'

/** Changes of a state, as a journal keeps them. */
export type StateChanges = { readonly set?: JsonObject; readonly removed?: readonly string[] }

/** The state of a run as one of its steps sees it: writes through, and notes the keys that the step has changed. */
export class NotedState implements State {
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
  changes(): StateChanges {
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

/** Does to a state what a step did when it was recorded. */
export function applyChanges(state: State, { set = {}, removed = [] }: StateChanges): void {
  for (const [key, value] of Object.entries(set)) state.set(key, value)
  for (const key of removed) state.delete(key)
}
