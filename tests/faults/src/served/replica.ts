/** A server process among others on one store: `node replica.ts <task as JSON>`. It tells its parent its address, and stops on SIGTERM as the guide to deploying does. */
import { appendFileSync, writeSync } from 'node:fs'
import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import { KernelError } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { bookkeeper } from '../conversation/bookkeeper.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { type Effect, Effects } from '../conversation/effects.ts'
import { type OnMoment, openStore } from '../store/open-store.ts'
import { watchedStore } from '../store/watched-store.ts'
import { LeaseFile } from './lease-file.ts'
import type { ClockMessage, FreezePoint, ReplicaMessage, ReplicaTask } from './replica-task.ts'

const [, , argument = ''] = process.argv
const { address, effects: file, leaseMs, pauseMs, busyTimeoutMs, freezeAt } = JSON.parse(argument) as ReplicaTask
const tell = (message: ReplicaMessage) => void process.send?.(message)

// The wall clock of this process jumps; its timers do not.
const rightNow = Date.now
let clockOffsetMs = 0
Date.now = () => rightNow() + clockOffsetMs
process.on('message', (message: ClockMessage) => {
  ;({ clockOffsetMs } = message)
})
process.on('disconnect', () => process.exit(0))

const counts = { tool: 0, statement: 0, step: 0 }
/** Stops this process if this is the moment of its task. Contract: its parent knows when this returns. */
function freeze(where: FreezePoint['in'], at: string): void {
  if (freezeAt?.in !== where || ++counts[where] !== freezeAt.number) return
  writeSync(1, `${JSON.stringify({ type: 'freezes', at } satisfies ReplicaMessage)}\n`)
  process.kill(process.pid, 'SIGSTOP')
}

function onStatement(sql: string): OnMoment | undefined {
  if (!/^(insert|update|delete|with)/i.test(sql)) return undefined
  return (moment) => {
    if (moment !== 'after') return
    freeze('statement', sql.split(' ', 3).join(' '))
    if (/^insert into \S*troupe_journal/.test(sql)) freeze('step', 'after a step')
  }
}

class FreezingEffects extends Effects {
  override add(effect: Effect): void {
    appendFileSync(file, `${JSON.stringify(effect)}\n`)
    freeze('tool', 'in a tool')
  }
}

const report = ({ code }: KernelError) => tell({ type: 'report', code })
const watched = freezeAt && freezeAt.in !== 'tool' && { onStatement }
const leases = new LeaseFile(file)
const spans = new CaseSpans(file)
const bare = await openStore(address, { busyTimeoutMs, idleTransactionMs: busyTimeoutMs, ...watched })
const store = watchedStore(bare, async (name, perform, args) => {
  const result = await perform()
  if (name === 'leases.acquire') {
    leases.add((args[1] as { readonly runId: string }).runId, (result as { readonly token: number }).token)
  }
  return result
})
// The tables are made before the first request, as the guide does it; with such a short time limit, that may take several attempts.
for (let made = false; !made; ) {
  try {
    await store.threads.list({ app: 'faults', user: 'nobody' }, { limit: 1 })
    made = true
  } catch (error) {
    if (!KernelError.is(error) || !error.retryable) throw error
  }
}
const messages = messageLifecycle({ store, report, write: { delayMs: 10, retryMs: 20, maxRetryMs: 200 } })
const handler = agUiHandler({
  runner: runner({
    agent: bookkeeper(new FreezingEffects(file), pauseMs, [spans.tracing.handler]),
    store,
    callbacks: [spans.tracing, messages, toolLifecycle({ messages })],
    limits: { leaseMs, pollMs: 100 },
    report,
  }),
  store,
  appName: 'faults',
  authenticate: ({ headers }) => ({ user: headers.get('authorization') ?? '' }),
  maxConcurrentExecutions: 100,
  limits: { lookMs: 150, keepAliveMs: 200 },
  report,
})
const server = await agUiServer(handler)
process.once('SIGTERM', async () => {
  await server.stop(5_000)
  await messages[Symbol.asyncDispose]()
  spans.close()
  await store[Symbol.asyncDispose]()
  process.disconnect()
})
tell({ type: 'ready', url: server.url })
