import { connect, type Socket } from 'node:net'
import { agUiServer } from '@troupe/ag-ui/node'
import type { Store } from '@troupe/kernel'
import { loadHandler } from './load-handler.ts'
import { runInput } from './run-input.ts'

/** Figures of a load with readers that never read. */
export interface StalledFigures {
  readonly runs: number
  readonly growthMegabytes: number
  /** Milliseconds of a healthy run, before the readers that never read and with them. */
  readonly healthyBeforeMs: number
  readonly healthyMs: number
  /** The number of readers that the server dropped in that time. */
  readonly dropped: number
}

const EVENTS = 200

/**
 * Starts many runs; the readers of some never read a byte, the others read everything.
 * Contract: throws if a healthy reader misses anything.
 */
export async function readersThatNeverRead(
  store: Store,
  { runs, stalled, drainMs = 30_000 }: { readonly runs: number; readonly stalled: number; readonly drainMs?: number },
): Promise<StalledFigures> {
  const handler = loadHandler(store, { limits: { drainMs } })
  await using server = await agUiServer(handler)
  const sockets: Socket[] = []
  const ports = new Set<number | undefined>()
  let dropped = 0
  // A reader that never reads does not notice that it was dropped; the server does.
  server.server.on('connection', (socket) => {
    const { remotePort } = socket
    socket.on('close', () => {
      if (ports.has(remotePort)) dropped++
    })
  })
  const healthy = async (name: string) => {
    const from = performance.now()
    await readWhole(server.url, name, runInput(name, name, { deltas: EVENTS }))
    return performance.now() - from
  }
  /** A run with more output than the machine buffers, whose reader never reads. */
  const stall = (name: string) => {
    const body = runInput(name, name, { deltas: EVENTS, size: LARGE, pause: 20 })
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.pause()
    socket.on('error', () => undefined)
    socket.on('connect', () => void ports.add(socket.localPort))
    socket.write(`${HEAD}content-length: ${body.length}\r\n\r\n${body}`)
    sockets.push(socket)
  }
  const batch = async (name: string, count: number, stalling: number) => {
    const times: number[] = []
    for (let at = 0; at < count; at += LANES) {
      while (sockets.length < (stalling * (at + LANES)) / count) stall(`${name}-stalled-${sockets.length}`)
      const lanes = Array.from({ length: Math.min(LANES, count - at) }, (_, lane) => healthy(`${name}-${at + lane}`))
      times.push(...(await Promise.all(lanes)))
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  }
  const few = Math.min(400, runs)
  await batch('warm', few, Math.min(8, stalled))
  for (const socket of sockets.splice(0)) socket.destroy()
  const healthyBeforeMs = await batch('before', few, 0)
  const before = megabytes()
  dropped = 0
  const healthyMs = await batch('with', runs, stalled)
  const growthMegabytes = megabytes() - before
  const gone = dropped
  for (const socket of sockets) socket.destroy()
  await handler.stop(0)
  return { runs, growthMegabytes, healthyBeforeMs, healthyMs, dropped: gone }
}

const LARGE = 20_000
const LANES = 8
const HEAD = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

async function readWhole(url: string, name: string, body: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const text = await response.text()
  const deltas = text.split('"TEXT_MESSAGE_CONTENT"').length - 1
  if (deltas !== EVENTS || !text.includes('"RUN_FINISHED"')) {
    throw new Error(`run ${name}: ${deltas} of ${EVENTS} events, HTTP ${response.status}, ${text.slice(-200)}`)
  }
}

function megabytes(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().rss / 2 ** 20
}
