import { type Json, notJson } from '@troupe/kernel'

/** A copy that nobody else holds; what is not JSON is a schema's own making and cannot be copied. */
export function copyOf(args: unknown): unknown {
  return notJson(args) === undefined ? structuredClone(args) : args
}

/** What others are shown of a value: frozen, and never the value itself. */
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
