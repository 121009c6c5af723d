import { isForbiddenKey, type Json, notJson } from '../data/json.ts'
import { got, KernelError } from '../data/kernel-error.ts'

/** Shared JSON by top-level key; `temp:` keys live for one run. Contract: changes become `state-delta` events automatically. */
export interface State {
  get(key: string): Json | undefined
  set(key: string, value: Json): void
  delete(key: string): void
  keys(): Iterable<string>
}

/** The changes since the last `take`. */
type StateChange = { readonly set: { readonly [key: string]: Json }; readonly removed: readonly string[] }

/** A state that remembers its changes until `take` is called. */
export class TrackedState implements State {
  #base: State | undefined
  #changed: Set<string> | undefined

  /** Without a base it begins empty, and most runs leave it so. */
  constructor(base?: State) {
    this.#base = base
  }

  /** Returns a state that remembers its changes: the given one, if it does already. */
  static of(state: State): TrackedState {
    return state instanceof TrackedState ? state : new TrackedState(state)
  }

  get(key: string): Json | undefined {
    return this.#base?.get(key)
  }

  set(key: string, value: Json): void {
    checkKey(key)
    const broken = notJson(value)
    if (broken !== undefined) {
      throw new KernelError('VALIDATION_FAILED', `state.set: ${key}${broken} is not plain JSON, ${got(value)}`)
    }
    this.#base ??= new Map<string, Json>()
    this.#base.set(key, value)
    this.#mark(key)
  }

  delete(key: string): void {
    if (this.get(key) === undefined) return
    this.#base?.delete(key)
    this.#mark(key)
  }

  keys(): Iterable<string> {
    return this.#base?.keys() ?? []
  }

  get changed(): boolean {
    return this.#changed !== undefined
  }

  take(): StateChange {
    const set: Record<string, Json> = {}
    const removed: string[] = []
    for (const key of this.#changed ?? []) {
      const value = this.get(key)
      if (value === undefined) removed.push(key)
      else set[key] = value
    }
    this.#changed = undefined
    return { set, removed }
  }

  #mark(key: string): void {
    this.#changed ??= new Set()
    this.#changed.add(key)
  }
}

function checkKey(key: string): void {
  if (typeof key === 'string' && key !== '' && !isForbiddenKey(key)) return
  throw new KernelError(
    'VALIDATION_FAILED',
    `state.set: a key must be a non-empty string and not the name of an object internal, ${got(key)}`,
  )
}
