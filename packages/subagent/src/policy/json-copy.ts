import type { Json } from '@troupe/kernel'
import { notJson } from '@troupe/kernel/kit'

/** Copies JSON arguments; returns anything else, which a schema's transform has made, as it is. */
export function copyOf(args: unknown): unknown {
  return notJson(args) === undefined ? structuredClone(args) : args
}

/** Makes a frozen JSON copy of a value to show to listeners. */
export function jsonOf(args: unknown): Json {
  try {
    return frozen((JSON.parse(JSON.stringify(args)) ?? null) as Json)
  } catch {
    return null
  }
}

function frozen(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
