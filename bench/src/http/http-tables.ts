import { startPostgres, type TestServer } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { measureLarge } from './large-values.ts'
import { type EventCost, ReaderBench } from './many-readers.ts'
import type { Pace } from './pace.ts'
import { measureWaiting } from './waiting-runs.ts'

const TITLES: Readonly<Record<Pace, string>> = { paced: 'one delta every 10 ms', burst: 'all deltas at once' }
const NAMES = { bare: '`node:http`, stores nothing', memory: 'memory', sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** Makes tables of what an event costs with 50 readers over HTTP, beside a bare server that stores nothing; of runs that wait; and of large values. */
export async function* httpTables(): AsyncGenerator<string> {
  await using server = await startPostgres({ durable: true })
  {
    await using bench = await ReaderBench.start([server.url, server.schema()])
    // The burst warms the servers up.
    for (const pace of ['burst', 'paced'] as const) yield tableOf(pace, await bench.measure(pace))
  }
  yield await waitingTable(server)
  yield await largeTable(server)
}

/** Measures only what has a budget. */
export async function pacedReaders(): Promise<readonly EventCost[]> {
  await using server = await startPostgres({ durable: true })
  await using bench = await ReaderBench.start([server.url, server.schema()])
  await bench.measure('burst')
  return await bench.measure('paced')
}

function tableOf(pace: Pace, costs: readonly EventCost[]): string {
  const rows = costs.map(
    ({ kind, cpu, ratio, p50, p95 }) =>
      `| ${NAMES[kind]} | ${cpu.toFixed(1)} | ${ratio.toFixed(2)}x | ${p50.toFixed(1)} | ${p95.toFixed(1)} |`,
  )
  return [
    `| 50 readers, ${TITLES[pace]} | CPU an event, µs | ratio | p50, ms | p95, ms |\n|---|---|---|---|---|`,
    ...rows,
  ].join('\n')
}

async function waitingTable(server: TestServer): Promise<string> {
  const rows = (await measureWaiting(server)).map(
    ({ store, statements, leases, cpu }) =>
      `| ${store} | ${statements.toFixed(1)} | ${leases.toFixed(1)} | ${(cpu * 100).toFixed(1)} % |`,
  )
  return [
    '| 1,000 runs that wait for their models | statements a second | about leases | of a core |\n|---|---|---|---|',
    ...rows,
  ].join('\n')
}

async function largeTable(server: TestServer): Promise<string> {
  const rows = (await measureLarge(server)).map(
    ({ store, cpu, made, read, written }) =>
      `| ${store} | ${cpu.toFixed(1)} | ${made} | ${read} | ${(written / 1_000).toFixed(1)} |`,
  )
  return [
    '| a turn over AG-UI with a result of 1 MB and a state of 256 kB | CPU, ms | made as JSON | read | written by the process, MB |\n|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
