import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import { CALL_ARGUMENTS, handWrittenModel, look, nextId, PROMPT, pastMessages } from './stack-script.ts'
import type { StackSide } from './stack-side.ts'

type Row = { readonly id: string; readonly role: string; readonly content: unknown }

/** How much of a thread the model sees: the last 20 messages, or all. */
export type Seen = 'window' | 'all'
const limitOf = (seen: Seen) => (seen === 'window' ? 20 : 1_000_000_000)

/** The loop that an app would write: model, tool, model; no retries, no limits, no cancelling, no events. */
async function answer(past: readonly Row[]): Promise<{ readonly said: readonly Row[]; readonly text: string }> {
  const said: Row[] = [{ id: nextId(), role: 'user', content: PROMPT }]
  for (;;) {
    let call: string | undefined
    let text = ''
    for await (const part of handWrittenModel([...past, ...said])) {
      if ('call' in part) call = part.call
      else text += part.delta
    }
    if (call === undefined) {
      said.push({ id: nextId(), role: 'assistant', content: text })
      return { said, text }
    }
    const toolCalls = [{ id: call, name: 'lookup', arguments: CALL_ARGUMENTS }]
    said.push({ id: nextId(), role: 'assistant', content: '', toolCalls } as Row)
    said.push({ id: nextId(), role: 'tool', callId: call, content: look(JSON.parse(CALL_ARGUMENTS)) } as Row)
  }
}

/** By hand on `node:sqlite`: one read, then four rows in one transaction with the durability of our store. */
export function handWrittenSqlite(path: string, seen: Seen): StackSide {
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  const columns = 'thread text, seq integer, message text, primary key (thread, seq)'
  database.exec(`create table if not exists m (${columns}) without rowid`)
  const read = database.prepare('select seq, message from m where thread = ? order by seq desc limit ?')
  const add = database.prepare('insert into m values (?, ?, ?)')
  const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
  const put = (thread: string, after: number, rows: readonly Row[]) => {
    begin.run()
    for (const [i, row] of rows.entries()) add.run(thread, after + i + 1, JSON.stringify(row))
    commit.run()
  }
  return {
    async seed(thread, count) {
      if (count > 0) put(thread, 0, pastMessages(count, thread))
    },
    async turn(thread) {
      const rows = read.all(thread, limitOf(seen)) as { seq: number; message: string }[]
      const past = rows.map(({ message }) => JSON.parse(message) as Row).reverse()
      const { said, text } = await answer(past)
      put(thread, rows[0]?.seq ?? 0, said)
      return text
    },
    async [Symbol.asyncDispose]() {
      database.close()
    },
  }
}

/** By hand on `pg`: one read and one insert, both named statements. */
export async function handWrittenPostgres(url: string, schema: string, seen: Seen): Promise<StackSide> {
  const pool = new Pool({ connectionString: url, max: 10 })
  // The server may end before the last connection has said goodbye.
  pool.on('error', () => undefined)
  const table = `${schema}.m`
  const columns = 'thread text, seq bigint, message text, primary key (thread, seq)'
  await pool.query(`create schema if not exists ${schema}; create table if not exists ${table} (${columns})`)
  const insert = `insert into ${table} select $1, $2 + o, x from unnest($3::text[]) with ordinality as u(x, o)`
  const put = (thread: string, after: number, rows: readonly Row[]) =>
    pool.query({ name: `put ${schema}`, text: insert, values: [thread, after, rows.map((row) => JSON.stringify(row))] })
  const select = `select seq, message from ${table} where thread = $1 order by seq desc limit $2`
  return {
    async seed(thread, count) {
      if (count > 0) await put(thread, 0, pastMessages(count, thread))
    },
    async turn(thread) {
      const { rows } = await pool.query({ name: `read ${schema}`, text: select, values: [thread, limitOf(seen)] })
      const past = rows.map(({ message }) => JSON.parse(message) as Row).reverse()
      const { said, text } = await answer(past)
      await put(thread, Number(rows[0]?.seq ?? 0), said)
      return text
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
