import type { Json } from '@troupe/kernel'
import { plainJson } from '../answer/plain-json.ts'

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
  const values = redactedValues(text, redact)
  // An object may have a key twice, of which only the last is in the value.
  const plain = plainJson(values)
  const redacted = redact(plain)
  return redacted === plain ? values : redacted
}

/** The same for an answer that is JSON, which may have a block of code or words around it. */
export function redactedAnswer(text: string, redact: (text: string) => string): string {
  const start = text.search(/[[{]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1
  if (start < 0 || end <= start) return redactedArguments(text, redact)
  const values = redactedValues(text.slice(start, end), redact)
  return redactedArguments(text.slice(0, start) + values + text.slice(end), redact)
}

/** Replaces in the values of JSON. Contract: the same text if nothing is replaced, or if it is not JSON. */
function redactedValues(text: string, redact: (text: string) => string): string {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  const redacted = redactedJson(value, redact)
  return redacted === value ? text : JSON.stringify(redacted)
}
