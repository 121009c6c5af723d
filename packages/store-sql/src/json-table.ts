import { type AliasedExpression, type Expression, sql } from 'kysely'
import type { LogAppend } from './log-append.ts'
import type { Flavour } from './schema.ts'

/** The type of a column; `json` is the text of a value that is JSON. */
type Column = 'bigint' | 'text' | 'json'
type Columns = Readonly<Record<string, Column>>
type Row<Given extends Columns> = { readonly [Name in keyof Given]: Given[Name] extends 'bigint' ? number : string }

/** A table in a query that needs a name. */
interface Nameless<Result> {
  as<Alias extends string>(alias: Alias): AliasedExpression<Result, Alias>
}

/** Makes a table of a list of lists that is JSON, with these columns. Contract: one text, so the statement is the same for any number of rows. */
export function jsonTable<const Given extends Columns>(
  flavour: Flavour,
  list: Expression<string>,
  columns: Given,
): Nameless<Row<Given>> {
  const cells = Object.entries(columns).map(([name, type], at) => {
    const value = flavour === 'sqlite' ? sql`json_extract(value, ${sql.lit(`$[${at}]`)})` : postgresCell(type, at)
    return sql`${value} as ${sql.ref(name)}`
  })
  const from = flavour === 'sqlite' ? sql`json_each(${list})` : sql`json_array_elements(cast(${list} as json))`
  return { as: (alias) => sql<Row<Given>>`(select ${sql.join(cells)} from ${from})`.as(alias) }
}

function postgresCell(type: Column, at: number) {
  if (type === 'json') return sql`cast(value->${sql.lit(at)} as text)`
  return sql`cast(value->>${sql.lit(at)} as ${sql.raw(type)})`
}

/** The columns of `targetsText`; `n` is the index of an append. */
export const TARGETS = {
  n: 'bigint',
  app: 'text',
  user_id: 'text',
  thread_id: 'text',
  run_id: 'text',
  after: 'bigint',
  last: 'bigint',
  close: 'bigint',
} as const

/** The logs of appends and what becomes of them, as JSON. */
export function targetsText(appends: readonly LogAppend[]): string {
  return JSON.stringify(
    appends.map(({ key: { app, user, threadId }, run, after, last, close }, n) => {
      return [n, app, user, threadId, run, after, last, close ? 1 : 0]
    }),
  )
}
