import type { State } from '../context/state.ts'
import { canonical } from '../data/canonical.ts'
import type { EventOf } from '../data/event.ts'
import type { Json } from '../data/json.ts'
import type { StateChanges } from './noted-state.ts'

type StateDelta = EventOf<'state-delta'>

/**
 * What readers know of the state of a run that broke off.
 * Contract: a change is known by its key and value, because changes that were shown together may be made one by one when the run
 * goes on, or the other way round.
 */
export class ShownState {
  /** The values that readers know; undefined for a key that was removed. */
  readonly #known: Map<string, Json | undefined> = new Map()
  /** How often each change was seen and not made again yet. */
  readonly #seen: Map<string, number> = new Map()
  /** The keys that were shown in this attempt. */
  readonly #shown: Set<string> = new Set()

  /** Notes what readers have seen. */
  see(delta: StateDelta): void {
    for (const [key, value] of changesOf(delta)) {
      this.#known.set(key, value)
      const change = nameOf(key, value)
      this.#seen.set(change, (this.#seen.get(change) ?? 0) + 1)
    }
  }

  /** The changes that readers have not seen; undefined if they have seen all of them. */
  unseen(delta: StateDelta): StateDelta | undefined {
    const unseen = changesOf(delta).filter(([key, value]) => this.#isUnseen(key, value))
    if (unseen.length === 0) return undefined
    const keys = new Set(unseen.map(([key]) => key))
    const set = Object.fromEntries(Object.entries(delta.set).filter(([key]) => keys.has(key)))
    return { ...delta, set, removed: delta.removed.filter((key) => keys.has(key)) }
  }

  #isUnseen(key: string, value: Json | undefined): boolean {
    const change = nameOf(key, value)
    const seen = this.#seen.get(change) ?? 0
    if (seen > 0) this.#seen.set(change, seen - 1)
    // An older value that was shown now would stay if the one that was seen after it were hidden.
    if (seen > 0 && !(this.#shown.has(key) && nameOf(key, this.#known.get(key)) !== change)) return false
    this.#known.set(key, value)
    this.#shown.add(key)
    return true
  }

  /** How a state differs from what readers know of it: they may have seen changes of a call that broke off. */
  changes(state: State): StateChanges {
    const set: Record<string, Json> = {}
    const removed: string[] = []
    for (const [key, known] of this.#known) {
      const value = state.get(key)
      if (nameOf(key, value) === nameOf(key, known)) continue
      if (value === undefined) removed.push(key)
      else set[key] = value
    }
    return { ...(Object.keys(set).length > 0 && { set }), ...(removed.length > 0 && { removed }) }
  }
}

function changesOf({ set, removed }: StateDelta): readonly (readonly [key: string, value: Json | undefined])[] {
  return [...Object.entries(set), ...removed.map((key) => [key, undefined] as const)]
}

function nameOf(key: string, value: Json | undefined): string {
  return `${JSON.stringify(key)} ${value === undefined ? '' : canonical(value)}`
}
