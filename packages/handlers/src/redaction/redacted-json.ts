import type { Json } from '@troupe/kernel'

/** Replaces in every text of a JSON value, its keys and its numbers included. Contract: gives the same value if nothing is replaced. */
export function redactedJson<T extends Json>(value: T, redact: (text: string) => string): T
export function redactedJson(value: Json, redact: (text: string) => string): Json {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') {
    const text = String(value)
    const redacted = redact(text)
    return redacted === text ? value : redacted
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => redactedJson(item, redact))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const entries = Object.entries(value)
  const redacted = entries.map(([key, item]) => [redact(key), redactedJson(item, redact)] as const)
  const same = redacted.every(([key, item], i) => key === entries[i]?.[0] && item === entries[i]?.[1])
  return same ? value : Object.fromEntries(redacted)
}

/** Replaces in JSON that is text, or in a text that is not JSON. Contract: JSON stays JSON, unless a match crosses its signs. */
export function redactedArguments(text: string, redact: (text: string) => string): string {
  if (text === '' || text === '{}') return text
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return redact(text)
  }
  const redacted = redactedJson(value, redact)
  // An object may have a key twice, of which only the last is in the value.
  return redact(redacted === value ? text : JSON.stringify(redacted))
}
