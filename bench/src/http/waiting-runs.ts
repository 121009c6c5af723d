import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SQLInputValue, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type ChatModel, type ModelPart, type Store, stream } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { Client } from 'pg'
import type { TestServer } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { OWNER } from '../edge/run-request.ts'
import { StackCpu } from '../stack/stack-cpu.ts'

const RUNS = 1_000
/** Twice the default interval of renewals. */
const WAIT_MS = 4_000

/** What runs cost that wait for their models. */
export interface WaitingCost {
  readonly store: string
  /** Statements a second, and those of them about leases. */
  readonly statements: number
  readonly leases: number
  /** The share of a core. */
  readonly cpu: number
}

/** Measures runs that wait for their models on each store. */
export async function measureWaiting(server: TestServer): Promise<readonly WaitingCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const backends = async () => {
    const rows = await server.ask('select pid from pg_stat_activity where datname = current_database()')
    return rows.map(({ pid }) => Number(pid))
  }
  try {
    return [
      await waitOn('memory', memoryStore(), new StackCpu()),
      await waitOn('SQLite', sqliteStore({ path: join(folder, 'bench.db') }), new StackCpu()),
      await waitOn(
        'PostgreSQL',
        postgresStore({ url: server.url, schema: server.schema(), prepareStatements: true }),
        new StackCpu(backends),
      ),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function waitOn(name: string, open: Store, cpu: StackCpu): Promise<WaitingCost> {
  await using store = open
  const answered = Promise.withResolvers<void>()
  let asked = 0
  const model: ChatModel = {
    name: 'slow',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        asked++
        await answered.promise
        await sink.write({ type: 'text-delta', delta: 'word' })
        await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
      }),
  }
  const desk = runner({ agent: chatModelAgent({ name: 'bench', model }), store })
  // A run begins when it is awaited.
  const runs = Promise.all(
    Array.from({ length: RUNS }, (_, i) => desk.query('Go.', { session: { ...OWNER, threadId: `waiting-${i}` } })),
  )
  while (asked < RUNS) await pause(20)
  using counter = countStatements()
  const micros = await cpu.of(() => pause(WAIT_MS))
  const { all, leases } = counter.counts
  answered.resolve()
  await runs
  const seconds = WAIT_MS / 1_000
  return { store: name, statements: all / seconds, leases: leases / seconds, cpu: micros / 1_000 / WAIT_MS }
}

/** Counts the statements of this process until it is disposed. */
function countStatements() {
  const counts = { all: 0, leases: 0 }
  const count = (text: string) => {
    counts.all++
    if (text.includes('troupe_leases')) counts.leases++
  }
  const { all } = StatementSync.prototype
  const counted = function (this: StatementSync, ...values: SQLInputValue[]) {
    count(this.sourceSQL)
    return (all as (...values: SQLInputValue[]) => ReturnType<typeof all>).apply(this, values)
  }
  StatementSync.prototype.all = counted as typeof all
  const { query } = Client.prototype
  Client.prototype.query = function (this: Client, ...given: unknown[]) {
    count((given[0] as { readonly text?: string }).text ?? '')
    return (query as (...given: unknown[]) => unknown).apply(this, given)
  } as typeof query
  return {
    counts,
    [Symbol.dispose]() {
      StatementSync.prototype.all = all
      Client.prototype.query = query
    },
  }
}
