/** The server of the soak test in its own process; server-process.ts starts it with --expose-gc. */
import { setTimeout as pause } from 'node:timers/promises'
import { AgUiAgent, agUiHandler, SessionManager } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import type { KernelError } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { CountingClock } from '../counting-clock.ts'
import { benchStores } from '../edge/bench-stores.ts'
import { OWNER } from '../edge/run-request.ts'
import { soakAgent } from './soak-agent.ts'

/** The state of the server. */
export interface Sample {
  readonly heap: number
  readonly rss: number
  /** Active runs. */
  readonly active: number
  readonly timers: number
  /** Runs whose end was recorded. */
  readonly recorded: number
  readonly paid: number
  /** How often each error was reported. */
  readonly reports: Readonly<Record<string, number>>
}

/** A day in ten minutes: all lifetimes are divided by this. */
const SPEED_UP = 144

const stores = benchStores()
const store = stores.sqlite
const clock = new CountingClock()
const reports: Record<string, number> = {}
const report = ({ code }: KernelError) => {
  reports[code] = (reports[code] ?? 0) + 1
}
let paid = 0
let recorded = 0

const messages = messageLifecycle({ store, clock, report, publish: () => undefined, onDone: () => void recorded++ })
const callbacks = [messages, toolLifecycle({ messages })]
const agent = soakAgent(() => paid++)
const sessions = new SessionManager({
  store,
  clock,
  report,
  sessionTimeoutMs: 1_200_000 / SPEED_UP,
  // An unanswered question is kept for an hour.
  maxPendingMs: 3_600_000 / SPEED_UP,
  sweepIntervalMs: 300_000 / SPEED_UP,
})
sessions.start()
const served = new AgUiAgent({
  runner: runner({ agent, store, callbacks, clock, report, limits: { pollMs: 100 } }),
  store,
  appName: OWNER.app,
  userId: OWNER.user,
  maxConcurrentExecutions: 100,
  sessions,
  clock,
  report,
})
const limits = { keepAliveMs: 15_000 / SPEED_UP }
const handler = agUiHandler({ agent: served, store, owner: OWNER, clock, report, limits })
const server = await agUiServer(handler)

async function sample(): Promise<Sample> {
  for (let i = 0; i < 2; i++) {
    globalThis.gc?.()
    await pause(1)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const active = served.activeExecutions
  return { heap: heapUsed + external, rss, active, timers: clock.pending, recorded, paid, reports }
}

process.on('message', async (command) => {
  if (command === 'sample') return void process.send?.(await sample())
  await messages.flush()
  await server.stop()
  await sessions[Symbol.asyncDispose]()
  await messages[Symbol.asyncDispose]()
  await stores[Symbol.asyncDispose]()
  process.send?.(await sample())
  process.disconnect()
})
process.on('disconnect', () => process.exit())
process.send?.(server.url)
