import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { inputOf } from '../edge/run-request.ts'
import { median } from '../measure.ts'
import { nextMessage } from '../next-message.ts'
import { DELTAS, KINDS, type Kind, type Pace } from './pace.ts'

const READERS = 50
/** Rounds that are measured, after some that are not, and how often all readers run in one. */
const ROUNDS = { burst: { warm: 3, measured: 5, times: 4 }, paced: { warm: 1, measured: 3, times: 1 } } as const

/** What an event costs on a server with many readers. */
export interface EventCost {
  readonly kind: Kind
  /** Microseconds of CPU, of the process and its database. */
  readonly cpu: number
  /** To the server by hand, in the same round. */
  readonly ratio: number
  /** Milliseconds from the model to the reader. */
  readonly p50: number
  readonly p95: number
}

interface Server {
  readonly url: string
  readonly child: ChildProcess
}

/** Servers of every kind, which take turns. */
export class ReaderBench implements AsyncDisposable {
  readonly #servers: Server[] = []

  /** `database` is the address of a PostgreSQL server and a schema in it. */
  static async start(database: readonly string[]): Promise<ReaderBench> {
    const bench = new ReaderBench()
    for (const kind of KINDS) bench.#servers.push(await start(kind, kind === 'postgres' ? database : []))
    return bench
  }

  /** Measures each server with 50 readers, each of a run of its own, round by round. */
  async measure(pace: Pace): Promise<readonly EventCost[]> {
    const costs = KINDS.map(() => ({ cpu: [] as number[], delays: [] as number[] }))
    const { warm, measured, times } = ROUNDS[pace]
    for (let round = -warm; round < measured; round++) {
      for (const at of round % 2 ? [...KINDS.keys()].reverse() : KINDS.keys()) {
        const { cpu, delays } = await measureRound(this.#servers[at] as Server, pace, times)
        if (round < 0) continue
        costs[at]?.cpu.push(cpu)
        for (const delay of delays) costs[at]?.delays.push(delay)
      }
    }
    return KINDS.map((kind, at) => {
      const { cpu, delays } = costs[at] as (typeof costs)[number]
      const sorted = delays.toSorted((a, b) => a - b)
      return {
        kind,
        cpu: median(cpu),
        ratio: median(cpu.map((micros, i) => micros / (costs[0]?.cpu[i] as number))),
        p50: (sorted[sorted.length >> 1] as number) / 1_000,
        p95: (sorted[Math.floor(sorted.length * 0.95)] as number) / 1_000,
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#servers) {
      child.disconnect()
      await once(child, 'exit')
    }
  }
}

async function start(kind: Kind, database: readonly string[]): Promise<Server> {
  const child = fork(new URL('./server.ts', import.meta.url), [kind, ...database], { execArgv: ['--no-warnings'] })
  return { url: await nextMessage<string>(child), child }
}

async function measureRound({ url, child }: Server, pace: Pace, times: number) {
  child.send(pace)
  await nextMessage(child)
  const delays: number[] = []
  for (let i = 0; i < times; i++) await Promise.all(Array.from({ length: READERS }, () => read(url, delays)))
  child.send('end')
  const micros = await nextMessage<number>(child)
  return { cpu: micros / (READERS * DELTAS * times), delays }
}

/** Runs on a new thread and a new connection, and notes how long each delta was under way. */
function read(url: string, delays: number[]): Promise<void> {
  const body = JSON.stringify(inputOf(crypto.randomUUID()))
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false, headers }, (response) => {
      let seen = 0
      let rest = ''
      response.on('data', (chunk: Buffer) => {
        const now = Number(process.hrtime.bigint() / 1_000n)
        const text = rest + chunk.toString('latin1')
        const end = text.lastIndexOf('\n') + 1
        for (const [, said] of text.slice(0, end).matchAll(/@(\d{6,}) /g)) {
          delays.push(now - Number(said))
          seen++
        }
        rest = text.slice(end)
      })
      response.on('error', reject)
      response.on('end', () => {
        if (seen === DELTAS && response.statusCode === 200) return resolve()
        reject(new Error(`bench: ${seen} deltas, status ${response.statusCode}: ${rest.slice(0, 300)}`))
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
