import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { registerWorkers, restateRunner } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import type { Runner } from '@troupe/kernel'
import { startRestate } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { openStore, type StorePlace } from './open-store.ts'
import { speedAgent } from './speed-agent.ts'

/** Measures what a run on Restate costs, beside the same steps in a handler written by hand, and beside the same run on PostgreSQL alone. */
const IDLE = 60
/** How many calls a long run makes, each of which is two steps. */
const MANY = 10

type Way = (calls: number) => PromiseLike<unknown>

await using postgres = await startPostgres({ durable: true })
await using restate = await startRestate()
const place: StorePlace = { url: postgres.url, schema: postgres.schema() }
await using store = await openStore(place)
const { child, ports } = await startWorker(place)
for (const port of ports) await registerWorkers({ admin: restate.admin, workers: `http://127.0.0.1:${port}` })

const remote = restateRunner({ agent: speedAgent, ingress: restate.ingress, store })
const ways: { readonly [way: string]: Way } = {
  'on Restate': by(remote),
  'by hand on Restate': (calls) => byHand(2 * calls + 1),
  'on PostgreSQL alone': by(runner({ agent: speedAgent, store })),
}
const times = await idle()
const rows: Record<string, Record<string, number | string>> = {}
for (const [name, way] of Object.entries(ways)) {
  const of = (calls: number, quantile: number) => at(times.get(`${name} ${calls}`) ?? [], quantile)
  rows[name] = {
    'ms a step': round((of(MANY, 0.5) - of(0, 0.5)) / (2 * MANY)),
    '1 step p50': round(of(0, 0.5)),
    '5 steps p50': round(of(2, 0.5)),
    '5 steps p95': round(of(2, 0.95)),
    'runs/s, 50 at once': round(await throughput(way, 300, 50)),
  }
}
console.table(rows)
const streams: Record<string, Record<string, number>> = {}
for (const count of [1, 10]) {
  const delays = (await Promise.all(Array.from({ length: count }, () => delaysOf(remote)))).flat().sort((a, b) => a - b)
  streams[`${count} streams of 100 words a second`] = { p50: at(delays, 0.5), p95: at(delays, 0.95) }
}
console.table(streams)
console.log(`load of the machine: ${loadavg().map(round).join(' ')}`)
child.kill()

function by(chat: Runner): Way {
  const session = () => ({ app: 'speed', user: 'ann', threadId: randomUUID() })
  return (calls) => chat.run(`calls:${calls}`, { session: session() })
}

async function byHand(steps: number): Promise<void> {
  const response = await fetch(`${restate.ingress}/byHand/${randomUUID()}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: String(steps),
  })
  if (!response.ok) throw new Error(await response.text())
  await response.text()
}

/** The times of runs that come one after the other, sorted. Contract: the ways take turns, so that a busy machine is busy for all of them. */
async function idle(): Promise<ReadonlyMap<string, readonly number[]>> {
  const measured = new Map<string, number[]>()
  for (let i = -5; i < IDLE; i++) {
    for (const [name, way] of Object.entries(ways)) {
      for (const calls of [0, 2, MANY]) {
        const began = performance.now()
        await way(calls)
        const key = `${name} ${calls}`
        // The first ones warm up.
        if (i >= 0) measured.set(key, [...(measured.get(key) ?? []), performance.now() - began])
      }
    }
  }
  for (const list of measured.values()) list.sort((x, y) => x - y)
  return measured
}

async function throughput(way: Way, count: number, atOnce: number): Promise<number> {
  let left = count
  const began = performance.now()
  const one = async () => {
    while (left-- > 0) await way(2)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return count / ((performance.now() - began) / 1_000)
}

/** How long each word of a run takes to its reader. */
async function delaysOf(chat: Runner): Promise<readonly number[]> {
  const delays: number[] = []
  const session = { app: 'speed', user: 'ann', threadId: randomUUID() }
  for await (const event of chat.run('words:200', { session })) {
    if (event.type === 'text-delta')
      for (const said of event.delta.trim().split(' ')) delays.push(Date.now() - Number(said))
  }
  return delays
}

async function startWorker(
  at: StorePlace,
): Promise<{ readonly child: ChildProcess; readonly ports: readonly string[] }> {
  const program = fileURLToPath(new URL('./speed-worker.ts', import.meta.url))
  const own = spawn(process.execPath, ['--no-warnings', program, JSON.stringify(at)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => own.kill('SIGKILL'))
  const ready = await new Promise<string>((resolve) =>
    own.stdout.setEncoding('utf8').on('data', (line: string) => {
      if (line.startsWith('ready')) resolve(line)
    }),
  )
  return { child: own, ports: ready.trim().split(' ').slice(1) }
}

function at(sorted: readonly number[], quantile: number): number {
  return sorted[Math.floor((sorted.length - 1) * quantile)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
