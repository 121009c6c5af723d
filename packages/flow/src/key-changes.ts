import type { Json, JsonObject } from '@troupe/kernel'

/** Changes of a state by key, in order; a key without a value was removed. */
export type KeyChanges = ReadonlyMap<string, Json | undefined>

/** Adds a change to others. Contract: copies values, because tools may go on changing them. */
export function noteChanges(
  changes: KeyChanges | undefined,
  set: JsonObject,
  removed: readonly string[],
): KeyChanges | undefined {
  const added = new Map<string, Json | undefined>()
  for (const [key, value] of Object.entries(set)) added.set(key, copyOf(value))
  for (const key of removed) added.set(key, undefined)
  return mergeChanges(changes, added.size === 0 ? undefined : added)
}

/** Joins two lists of changes; the second one came later. */
export function mergeChanges(first: KeyChanges | undefined, second: KeyChanges | undefined): KeyChanges | undefined {
  if (!first || !second) return first ?? second
  return new Map([...first, ...second])
}

function copyOf(value: Json): Json {
  return typeof value === 'object' && value !== null ? structuredClone(value) : value
}
