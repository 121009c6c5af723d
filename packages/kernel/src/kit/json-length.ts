/** Deeper values are not JSON here. */
const MAX_DEPTH = 64
/** The length of a number, true, false or null, with its comma. */
const SCALAR = 5

/**
 * About how many characters a value has as JSON.
 * Contract: stops counting after `most`, so the time is limited too; takes any value, also one that is not JSON or contains itself.
 * @example const isLong = jsonLength(messages, 4_000_000) > 4_000_000
 */
export function jsonLength(value: unknown, most: number): number {
  return typeof value === 'string' ? value.length : lengthOf(value, most, 0)
}

function lengthOf(value: unknown, most: number, depth: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return SCALAR
  if (ArrayBuffer.isView(value)) return value.byteLength
  return Array.isArray(value) ? listLength(value, most, depth) : recordLength(value, most, depth)
}

function listLength(list: readonly unknown[], most: number, depth: number): number {
  let length = 2
  for (let i = 0; i < list.length && length <= most; i++) length += lengthOf(list[i], most - length, depth + 1)
  return length
}

function recordLength(record: object, most: number, depth: number): number {
  let length = 2
  for (const key in record) {
    length += key.length + 4
    if (length > most) break
    length += lengthOf((record as Record<string, unknown>)[key], most - length, depth + 1)
  }
  return length
}
