import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { runInput } from './run-input.ts'

/** The throughput of one kind of server. */
export interface Throughput {
  /** As the reader measured it, in the median of all rounds. */
  readonly eventsPerSecond: number
  /** CPU of the server process, which says more on a shared machine. */
  readonly cpuMicrosPerEvent: number
}

/** Measures the events per second of a server in its own process. */
export async function throughput(
  kind: 'bare' | 'memory' | 'sqlite',
  deltas: number,
  rounds: number,
): Promise<Throughput> {
  const child: ChildProcess = fork(new URL('./throughput-server.ts', import.meta.url), [kind], {
    execArgv: ['--no-warnings'],
  })
  try {
    const [url] = (await once(child, 'message')) as [string]
    for (let i = 0; i < 3; i++) await read(url, runInput('warm', `warm-${i}`, { deltas }))
    const cpu = async () => {
      child.send('cpu')
      return ((await once(child, 'message')) as [number])[0]
    }
    const before = await cpu()
    const times: number[] = []
    for (let i = 0; i < rounds; i++) {
      const from = performance.now()
      await Promise.all([0, 1].map((lane) => read(url, runInput(`t${i}-${lane}`, `r${i}-${lane}`, { deltas }))))
      times.push(performance.now() - from)
    }
    times.sort((a, b) => a - b)
    const median = times[Math.floor(times.length / 2)] ?? 1
    const micros = ((await cpu()) - before) * 1_000
    return {
      eventsPerSecond: Math.round((2 * deltas * 1_000) / median),
      cpuMicrosPerEvent: Math.round((micros / (2 * deltas * rounds)) * 100) / 100,
    }
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}

/** Reads a whole answer and checks only its end. */
function read(url: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', headers }, (response) => {
      let size = 0
      let last: Buffer = Buffer.alloc(0)
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        last = chunk
      })
      response.on('end', () => {
        if (String(last).includes('RUN_FINISHED')) resolve(size)
        else reject(new Error(`a run did not finish: ${response.statusCode} ${String(last).slice(-300)}`))
      })
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
