import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@troupe/kernel'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { handWrittenPostgres, handWrittenSqlite } from './hand-written.ts'
import { StackCpu } from './stack-cpu.ts'
import type { StackSide } from './stack-side.ts'
import { troupeSide } from './troupe-side.ts'
import { measureGrowth, measureTurns, type NamedSide, type TurnCost } from './turns.ts'

const LONG = 10_000
const CONVERSATION = 1_000
/** As many messages as the hand-written side reads. */
const LAST = 20

/** A database with both sides on it. */
interface Database {
  readonly name: string
  readonly store: Store
  readonly cpu: StackCpu
  readonly window: StackSide
  readonly all: StackSide
  /** Lets the database look at its tables, as it does by itself after a minute. */
  analyze(): Promise<unknown>
}

/** What whole turns cost in one situation, beside a hand-written loop on the same database. */
interface TurnTable {
  readonly title: string
  readonly costs: readonly TurnCost[]
}

/** What a conversation costs, and how that grows with its length. */
interface GrowthTable {
  readonly title: string
  readonly growth: readonly (Pick<TurnCost, 'name' | 'cpu' | 'ratio'> & { readonly exponent: number })[]
}

/** Makes tables of what whole turns cost on SQLite and PostgreSQL, beside a hand-written loop on the same database. */
export async function stackTables(): Promise<string> {
  const tables = await measureStack()
  return tables.map((table) => ('costs' in table ? turnTable(table) : growthTable(table))).join('\n\n')
}

/** The ratios of these tables by `title, name`; with `, written` those of the bytes. */
export async function stackRatios(): Promise<ReadonlyMap<string, number>> {
  const ratios = new Map<string, number>()
  for (const { title, ...table } of await measureStack()) {
    const rows = 'costs' in table ? table.costs : table.growth
    for (const { name, ratio } of rows) ratios.set(`${title}, ${name}`, ratio)
    if (!('costs' in table)) continue
    const [byHand] = table.costs
    for (const { name, bytes } of table.costs) ratios.set(`${title}, ${name}, written`, bytes / (byHand?.bytes ?? 0))
  }
  return ratios
}

async function measureStack(): Promise<readonly (TurnTable | GrowthTable)[]> {
  await using stack = new AsyncDisposableStack()
  const tables: (TurnTable | GrowthTable)[] = []
  for (const database of [await onSqlite(stack), await onPostgres(stack)]) tables.push(...(await tablesOn(database)))
  return tables
}

async function tablesOn(database: Database): Promise<readonly (TurnTable | GrowthTable)[]> {
  const { name, store, cpu, window, all, analyze } = database
  const [turn, step] = [troupeSide(store, { durability: 'turn' }), troupeSide(store, { durability: 'step' })]
  const recorded = {
    turn: troupeSide(store, { durability: 'turn', records: true }),
    step: troupeSide(store, { durability: 'step', records: true }),
  }
  const cold = troupeSide(store, { durability: 'turn', cold: true })
  const windowed = troupeSide(store, { durability: 'turn', cold: true, last: LAST })
  const byHand = { name: 'by hand, last 20 messages', side: window }
  const empty = await measureTurns(
    [
      byHand,
      { name: "Troupe, `durability: 'turn'`", side: turn },
      { name: "Troupe, `durability: 'step'`", side: step },
      { name: "Troupe, `'turn'`, with records", side: recorded.turn },
      { name: "Troupe, `'step'`, with records", side: recorded.step },
    ],
    0,
    20,
    database,
  )
  const warm = await measureTurns(
    [byHand, { name: "Troupe, `'turn'`", side: turn }, { name: "Troupe, `'step'`", side: step }],
    LONG,
    4,
    database,
  )
  const first = await measureTurns(
    [
      { name: 'by hand, all messages', side: all },
      { name: "Troupe, `'turn'`, a new process", side: cold },
    ],
    LONG,
    2,
    database,
  )
  const short = await measureTurns(
    [byHand, { name: "Troupe, `'turn'`, a new process, `last: 20`", side: windowed }],
    LONG,
    20,
    database,
  )
  const fresh = await measureTurns(
    [byHand, { name: "Troupe, `'turn'`, a new process, `last: 20`", side: windowed }],
    0,
    20,
    database,
  )
  await analyze()
  return [
    { title: `${name}: a turn on an empty thread`, costs: empty },
    { title: `${name}: a turn on 10,000 messages`, costs: warm },
    { title: `${name}: the first turn of a process on 10,000 messages`, costs: first },
    { title: `${name}: the first turn of a process on 10,000 messages, of which the model sees 20`, costs: short },
    { title: `${name}: the same on an empty thread`, costs: fresh },
    {
      title: `${name}: 1,000 turns on one thread`,
      growth: await growthOf([byHand, { name: "Troupe, `'turn'`", side: turn }], cpu),
    },
  ]
}

async function growthOf(sides: readonly NamedSide[], cpu: StackCpu): Promise<GrowthTable['growth']> {
  const rows: GrowthTable['growth'][number][] = []
  for (const named of sides) {
    const { total, exponent } = await measureGrowth(named, CONVERSATION, cpu)
    rows.push({ name: named.name, cpu: total, ratio: total / (rows[0]?.cpu ?? total), exponent })
  }
  return rows
}

function turnTable({ title, costs }: TurnTable): string {
  const rows = costs.map(
    ({ name, cpu, ratio, bytes }) =>
      `| ${name} | ${cpu.toFixed(2)} | ${ratio.toFixed(1)}x | ${(bytes / 1_000).toFixed(1)} |`,
  )
  return [`| ${title} | CPU, ms | ratio | written, kB |\n|---|---|---|---|`, ...rows].join('\n')
}

function growthTable({ title, growth }: GrowthTable): string {
  const rows = growth.map(
    ({ name, cpu, ratio, exponent }) =>
      `| ${name} | ${(cpu / 1_000).toFixed(2)} | ${ratio.toFixed(1)}x | n^${exponent.toFixed(2)} |`,
  )
  return [`| ${title} | CPU, s | ratio | growth |\n|---|---|---|---|`, ...rows].join('\n')
}

async function onSqlite(stack: AsyncDisposableStack): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const store = stack.use(sqliteStore({ path: join(folder, 'troupe.db') }))
  const window = stack.use(handWrittenSqlite(join(folder, 'window.db'), 'window'))
  const all = stack.use(handWrittenSqlite(join(folder, 'all.db'), 'all'))
  return { name: 'SQLite', store, cpu: new StackCpu(), window, all, analyze: async () => undefined }
}

async function onPostgres(stack: AsyncDisposableStack): Promise<Database> {
  const server = stack.use(await startPostgres({ durable: true }))
  const backends = async () => {
    const rows = await server.ask('select pid from pg_stat_activity where datname = current_database()')
    return rows.map(({ pid }) => Number(pid))
  }
  const store = stack.use(postgresStore({ url: server.url, schema: server.schema(), prepareStatements: true }))
  await store.ready()
  const window = stack.use(await handWrittenPostgres(server.url, server.schema(), 'window'))
  const all = stack.use(await handWrittenPostgres(server.url, server.schema(), 'all'))
  return { name: 'PostgreSQL', store, cpu: new StackCpu(backends), window, all, analyze: () => server.ask('analyze') }
}
