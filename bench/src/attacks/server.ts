/** Serves a store whose clients have no manners, and says how much memory that takes; measure-attack.ts starts it with --expose-gc. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { agUiHandler, type ServedAgent } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { sqliteStore } from '@troupe/store-sqlite'
import { OWNER } from '../edge/run-request.ts'

/** Memory of the server, in megabytes. */
export interface Memory {
  /** The heap and buffers, after a collection. */
  readonly held: number
  /** The highest of these since the sample before, if it collects all the time. */
  readonly live: number
  readonly rss: number
  /** The highest RSS since the sample before. */
  readonly peak: number
}

/** How often, one after the other, every response must be found to be stalled or done. */
const LOOKS = 20
/** How often it collects, to tell what is in use from what waits for a collection. */
const COLLECT_MS = 20

const agent: ServedAgent = {
  run: () => {
    throw new Error('bench: nobody starts a run')
  },
  cancel: async () => false,
}
const store = sqliteStore({ path: process.argv[2] ?? '' })
const handler = agUiHandler({ agent, store, owner: OWNER, limits: { lookMs: 200 }, report: () => undefined })
const server = await agUiServer(handler)
const responses: ServerResponse[] = []
server.server.on('request', (_, response) => void responses.push(response))

const MB = 2 ** 20
const STATUS = '/proc/self/status'

/** Peak memory. On Linux it can be set back, elsewhere it is that of the whole process. */
function peak(): number {
  const status = existsSync(STATUS) ? readFileSync(STATUS, 'utf8') : ''
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? process.resourceUsage().maxRSS) / 1_024
}

/** The heap and buffers after a collection. */
function collect(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MB
}

let live = 0
if (process.argv[3] === 'collecting') setInterval(() => (live = Math.max(live, collect())), COLLECT_MS)

async function sample(): Promise<Memory> {
  const found = { live, peak: peak() }
  for (let i = 0; i < 3; i++) {
    collect()
    await pause(10)
  }
  const held = collect()
  live = held
  if (existsSync(STATUS)) writeFileSync('/proc/self/clear_refs', '5')
  return { ...found, held, rss: process.memoryUsage.rss() / MB }
}

/** Waits until so many requests have come, and each is answered or waits for its reader. */
async function settled(count: number): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks++) {
    await pause(10)
    const waiting = responses.length < count || responses.some((one) => !one.writableFinished && !one.writableNeedDrain)
    if (waiting) looks = 0
  }
}

process.on('disconnect', () => process.exit())
process.on('message', async (count: number) => {
  await settled(count)
  process.send?.(await sample())
  responses.length = 0
})
process.send?.((server.server.address() as AddressInfo).port)
