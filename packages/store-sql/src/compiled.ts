import { type Compilable, CompiledQuery, type Expression, expressionBuilder } from 'kysely'
import type { Queries } from './engine.ts'
import type { Tables } from './schema.ts'

/** A value of a column. */
type Scalar = string | number | null

type Row<Value> = Readonly<Record<string, Value>>
/** Columns and lists of keys, or the rows of one statement. */
type Values<Value> = Row<Value | readonly Value[]> | readonly Row<Value>[]

/** Values as a builder sees them: placeholders for the values of each call, which a builder cannot inspect or count. */
export type Slots<Given> = [Given] extends [Scalar]
  ? Expression<Given>
  : { readonly [Key in keyof Given]: Slots<Given[Key]> }

/** The values that fill slots. */
type Filled<Given> =
  Given extends Expression<infer Value> ? Value : { readonly [Key in keyof Given]: Filled<Given[Key]> }

/** A placeholder for the value at an index of a call's list. */
class Slot {
  readonly place: number

  constructor(place: number) {
    this.place = place
  }
}

/** By index, shared by all texts: a statement with many rows has thousands of them. */
const slots: Slot[] = []

/** One text of a query; its parameters are slots and constants. */
interface Text {
  readonly query: CompiledQuery<never>
  readonly parameters: readonly unknown[]
}

/** The most texts of one query: lists of many lengths make many texts. */
const TEXTS_KEPT = 32

/**
 * Makes a query that is built and compiled once for each shape of its values: their names and the lengths of their lists.
 * Contract: belongs to one engine, and is called with its `db` or transactions. Undefined values, and rows that differ in their
 * columns, are errors.
 * @example
 * const find = compiled((db, { id }: Slots<{ id: number }>) => db.selectFrom('troupe_owners').select('app').where('id', '=', id))
 * const [owner] = await find(transaction, { id: 7 })
 */
export function compiled<Given extends Values<Expression<unknown>>, Result>(
  build: (db: Queries, slots: Given) => Compilable<Result>,
): (db: Queries, values: Filled<Given>) => Promise<readonly Result[]> {
  const texts = new Map<string, Text>()

  const compile = (db: Queries, values: Values<Scalar>): Text => {
    const { sql, parameters } = build(db, slotsOf(values) as Given).compile()
    // Keep only the text: kysely's tree is many times as large.
    return { query: CompiledQuery.raw(sql) as CompiledQuery<never>, parameters }
  }

  return async (db, given) => {
    const values = given as Values<Scalar>
    const list: Scalar[] = []
    const shape = flatten(values, list)
    let text = texts.get(shape)
    if (!text) {
      text = compile(db, values)
      if (texts.size >= TEXTS_KEPT) texts.delete(texts.keys().next().value as string)
      texts.set(shape, text)
    }
    const parameters = text.parameters.map((one) => (one instanceof Slot ? list[one.place] : one))
    const { rows } = await db.executeQuery<Result>({ ...text.query, parameters })
    return rows
  }
}

/** The first row of a query that always has one. */
export function sure<Result>([row]: readonly Result[]): Result {
  if (row === undefined) throw new TypeError('compiled: expected a row, got none')
  return row
}

/** Lists the values of a call and returns their shape. Contract: with equal shapes, equal indexes have equal names. */
function flatten(values: Values<Scalar>, list: Scalar[]): string {
  return isRows(values) ? flattenRows(values, list) : flattenColumns(values, list)
}

function flattenRows(rows: readonly Row<Scalar>[], list: Scalar[]): string {
  const columns = Object.keys(rows[0] ?? {})
  for (const row of rows) {
    const names = Object.keys(row)
    const same = names.length === columns.length && names.every((name, i) => name === columns[i])
    if (!same) throw new TypeError(`compiled: expected rows with the columns ${columns}, got ${names}`)
    for (const name of names) list.push(known(name, row[name]))
  }
  return `${rows.length} of ${columns}`
}

function flattenColumns(values: Row<Scalar | readonly Scalar[]>, list: Scalar[]): string {
  let shape = ''
  for (const [name, value] of Object.entries(values)) {
    if (isList(value)) {
      for (const one of value) list.push(known(name, one))
      shape += `${name}[${value.length}],`
    } else {
      list.push(known(name, value))
      shape += `${name},`
    }
  }
  return shape
}

function known(name: string, value: Scalar | undefined): Scalar {
  if (value === undefined) throw new TypeError(`compiled: expected a value or null as ${name}, got undefined`)
  return value
}

/** The same structure, each value a parameter whose value is its slot. */
function slotsOf(values: Values<Scalar>): Values<Expression<unknown>> {
  const { val } = expressionBuilder<Tables>()
  let places = 0
  const next = () => {
    const place = places++
    slots[place] ??= new Slot(place)
    return val(slots[place])
  }
  const each = <From, To>(row: Row<From>, to: (value: From) => To) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, to(value)]))
  return isRows(values)
    ? values.map((row) => each(row, next))
    : each(values, (value) => (isList(value) ? value.map(next) : next()))
}

function isRows<Value>(values: Values<Value>): values is readonly Row<Value>[] {
  return Array.isArray(values)
}

function isList(value: Scalar | readonly Scalar[]): value is readonly Scalar[] {
  return Array.isArray(value)
}
