import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message, RecordCommand, Store } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import type { Pool } from 'pg'
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { acquire, BATCH, message, times, toolCall } from './store-workloads.ts'

const BATCHES = 100

export interface Throughput {
  readonly name: string
  readonly rowsPerSecond: number
}

/** Measures rows a second by the wall clock, in 100 batches of 1,000 small rows; beside PostgreSQL the same rows by bare `pg`. */
export async function storeThroughput(): Promise<readonly Throughput[]> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  await using server = await startPostgres({ durable: true })
  const stores: readonly (readonly [string, Store])[] = [
    ['SQLite, synchronous full', sqliteStore({ path: join(folder, 'full.db') })],
    ['SQLite, synchronous normal', sqliteStore({ path: join(folder, 'normal.db'), synchronous: 'normal' })],
    ['PostgreSQL', postgresStore({ url: server.url, schema: server.schema() })],
  ]
  const results: Throughput[] = []
  for (const [where, store] of stores) {
    const { own, commit } = await acquire(store, 'throughput')
    await store.records.apply(own, [{ type: 'run-start', run: { runId: 'run', agentName: 'a', startedAt: 1 } }])
    const apply = (commands: readonly RecordCommand[]) => store.records.apply(own, commands)
    results.push(await measure(`${where}: messages in threads.commit`, () => commit(times(BATCH, message))))
    results.push(await measure(`${where}: tool calls in records.apply`, () => apply(times(BATCH, toolCall))))
    await store.threads.delete(own)
    await store[Symbol.asyncDispose]()
  }
  const pool = server.pool({ max: 1 })
  const bare = await barePostgres(pool, server.schema())
  results.push(await measure('by hand with `pg`: messages', () => bare.messages(times(BATCH, message))))
  results.push(await measure('by hand with `pg`: tool calls', () => bare.calls(times(BATCH, toolCall))))
  await pool.end()
  rmSync(folder, { recursive: true })
  return results
}

async function measure(name: string, work: () => Promise<unknown>): Promise<Throughput> {
  for (let i = 0; i < 5; i++) await work()
  const begin = performance.now()
  for (let i = 0; i < BATCHES; i++) await work()
  return { name, rowsPerSecond: (BATCHES * BATCH * 1000) / (performance.now() - begin) }
}

/** Writes the same rows without a store: tables of the same shape, one named statement a batch; nothing is looked up, no lease is checked. */
async function barePostgres(pool: Pool, schema: string) {
  await pool.query(`create schema ${schema}`)
  await pool.query(`create table ${schema}.messages (thread bigint, seq bigint, id text, run_id text, message text,
    primary key (thread, seq), unique (thread, id))`)
  await pool.query(`create table ${schema}.calls (thread bigint, id text, seq bigint, run_id text, message_id text,
    name text, arguments text, status text, result text, started_at float8, ended_at float8, primary key (thread, id))`)
  await pool.query(`create index on ${schema}.calls (thread, run_id, seq)`)
  let seq = 0
  return {
    messages: (all: readonly Message[]) =>
      pool.query({
        name: 'messages',
        text: `insert into ${schema}.messages select 1, * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])`,
        values: [
          all.map(() => ++seq),
          all.map(({ id }) => id),
          all.map(() => 'run'),
          all.map((one) => JSON.stringify(one)),
        ],
      }),
    calls: (commands: readonly RecordCommand[]) => {
      const calls = commands.flatMap((command) => (command.type === 'tool-call' ? [command.call] : []))
      return pool.query({
        name: 'calls',
        text: `insert into ${schema}.calls select 1, * from unnest($1::text[], $2::bigint[], $3::text[], $4::text[],
          $5::text[], $6::text[], $7::text[], $8::text[], $9::float8[], $10::float8[])`,
        values: [
          calls.map(({ callId }) => callId),
          calls.map(() => ++seq),
          calls.map(({ runId }) => runId),
          calls.map(({ messageId }) => messageId),
          calls.map(({ name }) => name),
          calls.map(({ arguments: given }) => given),
          calls.map(({ status }) => status),
          calls.map(({ result }) => JSON.stringify(result)),
          calls.map(({ startedAt }) => startedAt),
          calls.map(({ endedAt }) => endedAt),
        ],
      })
    },
  }
}
