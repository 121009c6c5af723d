/** Serves silent streams and prints what they cost; main.ts starts it with --expose-gc. */
import { fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { AgUiAgent, agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type ChatModel, KernelError, type ModelPart, stream, type ThreadRef } from '@troupe/kernel'
import { CountingClock } from '../counting-clock.ts'
import { benchStores } from '../edge/bench-stores.ts'
import { inputOf, OWNER } from '../edge/run-request.ts'
import { nextMessage } from '../next-message.ts'
import type { ClientCommand } from './clients.ts'

/** The cost of the streams of one kind. */
export interface IdleFigures {
  readonly streams: number
  readonly heapKb: number
  readonly rssKb: number
  /** Milliseconds of main-thread CPU in a second while nothing happens. */
  readonly cpuMsPerSecond: number
  /** The share of that time in which the event loop was busy, including waits for a disk. */
  readonly busy: number
  /** The growth of the heap after the same streams once more, when the clients have left and the threads are deleted. */
  readonly leftKb: number
  readonly left: { readonly timers: number; readonly connections: number; readonly runs: number }
}

const [, , kind = 'memory', count = '5000', idleMs = '20000'] = process.argv
/** Whether all streams follow one run. */
const shared = kind === 'shared'
const streams = Number(count)
/** The number of streams before those that are measured. */
const WARM_UP = 200

/** A model that says one word and then nothing until it is aborted. */
const silent: ChatModel = {
  name: 'silent',
  stream: (_, { signal }) =>
    stream<ModelPart>(async (sink) => {
      await sink.write({ type: 'text-delta', delta: 'word ' })
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      throw new KernelError('ABORTED', 'silent: stopped')
    }),
}

await using stores = benchStores()
const store = kind === 'sqlite' ? stores.sqlite : stores.memory
const clock = new CountingClock()
const agent = new AgUiAgent({
  runner: runner({ agent: chatModelAgent({ name: 'silent', model: silent }), store, clock }),
  store,
  appName: OWNER.app,
  userId: OWNER.user,
  maxConcurrentExecutions: Math.max(streams, WARM_UP),
  clock,
})
const handler = agUiHandler({ agent, store, owner: OWNER, onDisconnect: 'cancel', clock })
const server = await agUiServer(handler)
const { port } = server.server.address() as AddressInfo
const clients = fork(new URL('./clients.ts', import.meta.url), { execArgv: ['--no-warnings'] })

async function send(command: ClientCommand): Promise<Record<string, number>> {
  clients.send(command)
  return nextMessage(clients)
}

const HEAD = 'HTTP/1.1\r\nhost: localhost\r\n'
const follow = `GET /threads/one/runs/r-one ${HEAD}\r\n`

function start(threadId: string): string {
  const body = JSON.stringify(inputOf(threadId))
  return `POST / ${HEAD}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** Waits until every run and connection has ended, then deletes all threads. */
async function clearAll(): Promise<void> {
  for (let i = 0; i < 600; i++) {
    const connections = await new Promise<number>((resolve) => server.server.getConnections((_, n) => resolve(n)))
    if (agent.activeExecutions === 0 && connections === 0) break
    await pause(100)
  }
  for (;;) {
    const threads = await store.threads.list(OWNER, { limit: 1_000 })
    if (threads.length === 0) return
    for (const { ref } of threads) {
      await waitForLog(ref)
      await store.threads.delete(ref)
    }
  }
}

/** Waits for the end of a run log, which is closed shortly after its run has ended. */
async function waitForLog(ref: ThreadRef): Promise<void> {
  const { signal } = new AbortController()
  const end = store.runLog.follow(ref, `r-${ref.threadId}`, { after: Number.MAX_SAFE_INTEGER, signal })
  for await (const _ of end);
}

async function memory(): Promise<{ readonly heap: number; readonly rss: number }> {
  for (let i = 0; i < 3; i++) {
    await pause(50)
    globalThis.gc?.()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: (heapUsed + external) / 1_024, rss: rss / 1_024 }
}

async function openStreams(count: number): Promise<void> {
  const requests = Array.from({ length: count }, (_, i) =>
    shared ? (i === 0 ? start('one') : follow) : start(`t${i}`),
  )
  const { open } = await send({ open: requests, port })
  if (open !== count) throw new Error(`bench: expected ${count} streams, got ${open}`)
}

// The first streams load and compile code, which is not a cost of the others.
await openStreams(WARM_UP)
await send({ close: true })
await clearAll()
const [timers, before] = [clock.pending, await memory()]

await openStreams(streams)
const open = await memory()
const from = process.threadCpuUsage()
const loop = performance.eventLoopUtilization()
await pause(Number(idleMs))
const { user, system } = process.threadCpuUsage(from)
const { utilization: busy } = performance.eventLoopUtilization(loop)
const { pinged } = await send({ close: true })
if (Number(idleMs) > 16_000 && pinged !== streams)
  throw new Error(`bench: only ${pinged} of ${streams} streams got a keep-alive`)
await clearAll()
const once = await memory()
await openStreams(streams)
await send({ close: true })
await clearAll()
const twice = await memory()

const figures: IdleFigures = {
  streams,
  heapKb: (open.heap - before.heap) / streams,
  rssKb: (open.rss - before.rss) / streams,
  cpuMsPerSecond: (user + system) / Number(idleMs),
  busy,
  leftKb: twice.heap - once.heap,
  left: {
    timers: clock.pending - timers,
    connections: await new Promise<number>((resolve) => server.server.getConnections((_, n) => resolve(n))),
    runs: agent.activeExecutions,
  },
}
clients.disconnect()
await server.stop(0)
console.log(JSON.stringify(figures))
