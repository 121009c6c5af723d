import type { Json } from '@troupe/kernel'

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

/** The JSON value of a column; `toColumn` would not change what `jsonText` has written. */
export function fromJson<T = Json>(column: string): T {
  return JSON.parse(column)
}
