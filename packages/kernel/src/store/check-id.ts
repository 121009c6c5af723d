import { malformed } from './check-value.ts'

/** The index of a database takes no longer key. */
const MAX_BYTES = 1000
/** An id of so many UTF-16 units is short enough however it is written: six bytes for each unit and three around them. */
const SURELY_SHORT = Math.floor((MAX_BYTES - 3) / 6)

/**
 * Checks an id: a text of 1 to 1000 bytes.
 * @example checkId('sqliteStore', 'runId', runId)
 */
export function checkId(who: string, what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') throw malformed(who, `a non-empty ${what}`, value)
  if (value.length <= SURELY_SHORT || bytesOf(value) <= MAX_BYTES) return
  throw malformed(who, `${what} of at most ${MAX_BYTES} bytes`, value)
}

/** The bytes of a text in a column. Contract: one that a database cannot store as it is counts as JSON, with a mark before it. */
function bytesOf(text: string): number {
  const plain = text.isWellFormed() && !text.includes('\0') && !text.startsWith('\u0001')
  return new TextEncoder().encode(plain ? text : ` ${JSON.stringify(text)}`).length
}
