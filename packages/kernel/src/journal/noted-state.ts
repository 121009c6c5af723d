import { type State, TrackedState } from '../context/state.ts'
import type { Json, JsonObject } from '../data/json.ts'

/** Changes of a state, as a journal keeps them. */
export type StateChanges = { readonly set?: JsonObject; readonly removed?: readonly string[] }

/** Who has written each key of a state last, among steps that run side by side. */
const WRITERS = new WeakMap<State, Map<string, NotedState>>()

/**
 * The state of a run as one of its steps sees it: writes through, and notes what the step has changed.
 * Contract: a change becomes one `state-delta`, like any other change of the run's state.
 */
export class NotedState extends TrackedState {
  readonly #state: TrackedState
  #written: Map<string, Json | undefined> | undefined
  #ended = false

  constructor(state: State) {
    const tracked = TrackedState.of(state)
    super(tracked)
    this.#state = tracked
  }

  override set(key: string, value: Json): void {
    super.set(key, value)
    this.#note(key, value)
  }

  override delete(key: string): void {
    super.delete(key)
    this.#note(key, undefined)
  }

  override get changed(): boolean {
    return this.#state.changed
  }

  override take(): ReturnType<TrackedState['take']> {
    return this.#state.take()
  }

  /**
   * What the step has changed. Contract: called once, when the step has ended.
   * Applied in the order in which steps end, the changes give the state that the run goes on with: a key that another step has written
   * since is left to that step if it has ended; otherwise it has the value that this step wrote, which the other one may have read.
   */
  changes(): StateChanges {
    this.#ended = true
    if (!this.#written) return {}
    const writers = WRITERS.get(this.#state)
    const set: Record<string, Json> = {}
    const removed: string[] = []
    for (const [key, written] of this.#written) {
      const writer = writers?.get(key)
      if (writer && writer !== this && writer.#ended) continue
      const value = writer === this ? this.get(key) : written
      if (value === undefined) removed.push(key)
      else set[key] = value
    }
    return { ...(Object.keys(set).length > 0 && { set }), ...(removed.length > 0 && { removed }) }
  }

  #note(key: string, value: Json | undefined): void {
    this.#written ??= new Map()
    this.#written.set(key, value)
    const writers = WRITERS.get(this.#state) ?? new Map<string, NotedState>()
    WRITERS.set(this.#state, writers)
    writers.set(key, this)
  }
}

/** Does to a state what a step did when it was recorded. */
export function applyChanges(state: State, { set = {}, removed = [] }: StateChanges): void {
  for (const [key, value] of Object.entries(set)) state.set(key, value)
  for (const key of removed) state.delete(key)
}
