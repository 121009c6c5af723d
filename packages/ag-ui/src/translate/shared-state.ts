import type { JsonPatchOperation } from '@ag-ui/core'
import type { Json, JsonObject } from '@troupe/kernel'
import { isForbiddenKey, notJson } from '@troupe/kernel/kit'
import { diff, escapeKey } from './json-patch.ts'

/** A deep copy, or undefined if the value is not JSON. */
export function copyOf(value: unknown): Json | undefined {
  return notJson(value) === undefined ? copied(value as Json) : undefined
}

/** Whether a key of the state lives for one run only and is not shown. */
export function isTemporary(key: string): boolean {
  return key.startsWith('temp:')
}

/** The state as a client has it: a first snapshot and every change since. Contract: `temp:` keys are never in it. */
export class SharedState {
  readonly #values: Map<string, Json> = new Map()
  readonly #hidden: ((key: string) => boolean) | undefined
  /** Whether it is another one than the client got in the first snapshot. */
  changed = false

  constructor(state: JsonObject, hidden: ((key: string) => boolean) | undefined) {
    this.#hidden = hidden
    this.change(state, [])
    this.changed = false
  }

  get snapshot(): JsonObject {
    return Object.fromEntries(this.#values)
  }

  /** Applies a change. Contract: returns the patch that brings a client from the state before it to the state after it. */
  change(set: unknown, removed: unknown): readonly JsonPatchOperation[] {
    const operations: JsonPatchOperation[] = []
    for (const [key, given] of Object.entries(set ?? {})) this.#set(key, given, operations)
    for (const key of Array.isArray(removed) ? removed : []) {
      if (this.#values.delete(key)) operations.push({ op: 'remove', path: `/${escapeKey(key)}` })
    }
    this.changed ||= operations.length > 0
    return operations
  }

  #set(key: string, given: unknown, operations: JsonPatchOperation[]): void {
    const value = this.#isShown(key) ? copyOf(given) : undefined
    if (value === undefined) return
    const path = `/${escapeKey(key)}`
    const before = this.#values.get(key)
    if (before === undefined) operations.push({ op: 'add', path, value })
    else for (const operation of diff(before, value, path)) operations.push(operation)
    this.#values.set(key, value)
  }

  #isShown(key: string): boolean {
    return !isTemporary(key) && !isForbiddenKey(key) && this.#hidden?.(key) !== true
  }
}

function copied(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copied)
  const copy: Record<string, Json> = {}
  for (const [key, item] of Object.entries(value)) copy[key] = copied(item)
  return copy
}
