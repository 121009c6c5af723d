import { type Expression, type RawBuilder, sql } from 'kysely'

/** Texts as one value for PostgreSQL, so that a statement has the same text for any number of rows. */
export function arrayText(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

/** The texts again. */
export function textsOf(array: Expression<string>): RawBuilder<readonly string[]> {
  return sql`cast(${array} as text[])`
}
