import { got, type Json, KernelError } from '@troupe/kernel'

/** Begins a text that a database could not keep as it is. */
const ESCAPE = '\u0001'

/**
 * A text as databases keep it: NUL breaks PostgreSQL and cuts texts of SQLite short, lone surrogates are no UTF-8.
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

/** A JSON value as a text, which is always one that `toColumn` would leave alone. */
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

/** Far more than a model reads, far less than what breaks a database or its driver. */
const MAX_LENGTH = 2 ** 26

/** Contract: throws `VALIDATION_FAILED` for what is too large to be a column. */
export function checkLength(text: string, who: string, what: string): void {
  if (text.length <= MAX_LENGTH) return
  const message = `${who}: ${what} has at most ${MAX_LENGTH} characters, ${got(text.length)}; keep large files elsewhere and store where they are`
  throw new KernelError('VALIDATION_FAILED', message)
}

/** The JSON value of a column. */
export function fromJson<T = Json>(column: string): T {
  return JSON.parse(column)
}
