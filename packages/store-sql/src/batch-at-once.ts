import { type Expression, type QueryCreator, type RawBuilder, sql } from 'kysely'
import type { BatchRows, WriteBatch } from './batch-saver.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Tables } from './schema.ts'

type Type = 'text' | 'bigint' | 'double precision'
type Columns<Row> = { readonly [Column in keyof Row]-?: Type }

const CHANGED: Columns<BatchRows['changed'][number]> = {
  seq: 'bigint',
  status: 'text',
  attempt: 'bigint',
  text_length: 'bigint',
  usage: 'text',
  error: 'text',
  ended_at: 'double precision',
}
const RUNS: Columns<BatchRows['runs'][number]> = {
  ...CHANGED,
  thread: 'bigint',
  owner: 'bigint',
  run_id: 'text',
  parent_run_id: 'text',
  agent_name: 'text',
  started_at: 'double precision',
}
const TEXTS: Columns<BatchRows['texts'][number]> = {
  thread: 'bigint',
  run_seq: 'bigint',
  start: 'bigint',
  text: 'text',
}
const CALLS: Columns<BatchRows['calls'][number]> = {
  thread: 'bigint',
  call_id: 'text',
  seq: 'bigint',
  run_id: 'text',
  message_id: 'text',
  name: 'text',
  arguments: 'text',
  status: 'text',
  result: 'text',
  attempts: 'double precision',
  started_at: 'double precision',
  ended_at: 'double precision',
}
const USAGE: Columns<BatchRows['usage'][number]> = {
  thread: 'bigint',
  span_id: 'text',
  run_id: 'text',
  model: 'text',
  input_tokens: 'double precision',
  output_tokens: 'double precision',
  reasoning_tokens: 'double precision',
  cached_input_tokens: 'double precision',
  cache_write_tokens: 'double precision',
  cost: 'double precision',
  finish_reason: 'text',
  message_id: 'text',
  request_id: 'text',
}

type Counters = { readonly run_seq: number; readonly call_seq: number }
/** The values of the statement: the JSON of the rows of each table that gets some, and the counters of the thread if they change. */
type Given = Slots<{ readonly id: number }> & Partial<Slots<Counters & { readonly [Name in keyof BatchRows]: string }>>

/** Writes the rows of a batch in one statement, whose text does not depend on how many there are, for databases whose statements are round trips. */
export function batchAtOnce(): WriteBatch {
  const write = compiled((db, given: Given) => {
    const { id, run_seq, call_seq } = given
    let creator: QueryCreator<Tables> = db
    for (const part of [addRuns, changeRuns, addTexts, putCalls, addUsage]) {
      const query = part(given)
      if (query) creator = creator.with(part.name, query as never) as unknown as QueryCreator<Tables>
    }
    if (!run_seq || !call_seq) return creator.selectNoFrom(sql`1`.as('written'))
    return creator.updateTable('troupe_threads').set({ run_seq, call_seq }).where('id', '=', id)
  })
  return async (tx, id, rows, counters) => {
    const texts = Object.entries(rows).filter(([, some]) => some.length > 0)
    if (texts.length === 0 && !counters) return
    const given = Object.fromEntries(texts.map(([name, some]) => [name, JSON.stringify(some)]))
    await write(tx, { id, ...counters, ...given })
  }
}

type Part = ((creator: QueryCreator<Tables>) => unknown) | undefined

function addRuns({ runs }: Given): Part {
  if (!runs) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_runs')
      .columns(namesOf(RUNS))
      .expression(allOf(creator, runs, RUNS))
}

function changeRuns({ changed, id }: Given): Part {
  if (!changed) return undefined
  const { seq: _, ...columns } = CHANGED
  const set = Object.fromEntries(Object.keys(columns).map((name) => [name, sql.ref(`n.${name}`)]))
  return (creator) =>
    creator
      .updateTable('troupe_runs as r')
      .from(rowsOf(changed, CHANGED))
      .set(set)
      .where('r.thread', '=', id)
      .whereRef('r.seq', '=', sql.ref('n.seq') as never)
}

function addTexts({ texts }: Given): Part {
  if (!texts) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_run_texts')
      .columns(namesOf(TEXTS))
      .expression(allOf(creator, texts, TEXTS))
}

function putCalls({ calls }: Given): Part {
  if (!calls) return undefined
  const { thread: _, call_id: __, seq: ___, ...columns } = CALLS
  const set = Object.fromEntries(Object.keys(columns).map((name) => [name, sql.ref(`excluded.${name}`)]))
  return (creator) =>
    creator
      .insertInto('troupe_tool_calls')
      .columns(namesOf(CALLS))
      .expression(allOf(creator, calls, CALLS))
      .onConflict((conflict) => conflict.columns(['thread', 'call_id']).doUpdateSet(set))
}

function addUsage({ usage }: Given): Part {
  if (!usage) return undefined
  return (creator) =>
    creator
      .insertInto('troupe_usage')
      .columns(namesOf(USAGE))
      .expression(allOf(creator, usage, USAGE))
      .onConflict((conflict) => conflict.columns(['thread', 'span_id']).doNothing())
}

function namesOf<Row>(columns: Columns<Row>): (keyof Row)[] {
  return Object.keys(columns) as (keyof Row)[]
}

function allOf<Row>(creator: QueryCreator<Tables>, json: Expression<string>, columns: Columns<Row>) {
  const names = namesOf(columns) as string[]
  return creator.selectFrom(rowsOf(json, columns)).select(names.map((name) => `n.${name}` as never)) as never
}

/** Rows from their JSON, in order. */
function rowsOf<Row>(json: Expression<string>, columns: Columns<Row>) {
  const types = Object.entries<Type>(columns as Record<string, Type>).map(
    ([name, type]): RawBuilder<unknown> => sql`${sql.id(name)} ${sql.raw(type)}`,
  )
  return sql<Row>`json_to_recordset(cast(${json} as json))`.as<'n'>(sql`n (${sql.join(types)})`)
}
