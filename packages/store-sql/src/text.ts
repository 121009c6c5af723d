import { type Json, KernelError } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'

/** Marks a text that a database could not store as it is. */
const ESCAPE = '\u0001'

/**
 * Encodes a text for a column: PostgreSQL refuses NUL, SQLite truncates at it, and lone surrogates are not valid UTF-8.
 * Contract: equal texts stay equal and different ones different, so that keys can be looked up.
 */
export function toColumn(text: string): string {
  const plain = !text.includes('\0') && !text.startsWith(ESCAPE) && text.isWellFormed()
  return plain ? text : ESCAPE + JSON.stringify(text)
}

/** The text of a column. */
export function fromColumn(column: string): string {
  return column.startsWith(ESCAPE) ? JSON.parse(column.slice(ESCAPE.length)) : column
}

/** Encodes a JSON value; `toColumn` would not change the result. */
export function toJson(value: unknown, who: string, what: string): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    throw new KernelError('VALIDATION_FAILED', `${who}: expected ${what} of plain JSON, ${got(value)}`, { cause })
  }
  if (json === undefined) {
    throw new KernelError('VALIDATION_FAILED', `${who}: expected ${what} of plain JSON, ${got(value)}`)
  }
  checkLength(json, who, what)
  return json
}

/** Far more than a model can read, far less than a database or its driver can hold. */
const MAX_LENGTH = 2 ** 26

/** Checks a length. Contract: throws `VALIDATION_FAILED` for a text that is too large for a column. */
export function checkLength(text: string, who: string, what: string): void {
  if (text.length <= MAX_LENGTH) return
  const message = `${who}: ${what} has at most ${MAX_LENGTH} characters, ${got(text.length)}; keep large files elsewhere and store where they are`
  throw new KernelError('VALIDATION_FAILED', message)
}

/** The JSON value of a column. */
export function fromJson<T = Json>(column: string): T {
  return JSON.parse(column)
}
