/** A server whose model says deltas with the moment it said them: `node server.ts <kind> [url] [schema]`; many-readers.ts starts it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type ChatModel, type ModelPart, type Store, stream } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { Client } from 'pg'
import { handWrittenServer } from '../edge/hand-written-server.ts'
import { OWNER } from '../edge/run-request.ts'
import { StackCpu } from '../stack/stack-cpu.ts'
import { DELTAS, PACES, type Pace } from './pace.ts'

const [, , kind = 'memory', url = '', schema = ''] = process.argv
let everyMs = 0

const model: ChatModel = {
  name: 'bench',
  stream: () =>
    stream<ModelPart>(async (sink) => {
      for (let i = 0; i < DELTAS; i++) {
        if (everyMs > 0) await pause(everyMs)
        await sink.write({ type: 'text-delta', delta: `@${process.hrtime.bigint() / 1_000n} ` })
      }
      await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
    }),
}

await using resources = new AsyncDisposableStack()
const ended = Promise.withResolvers<void>()
const cpu = new StackCpu(kind === 'postgres' ? await backendsOf() : undefined)
let stopMeasuring = () => {}
process.on('disconnect', () => ended.resolve())
process.on('message', async (message: Pace | 'end') => {
  if (message === 'end') return stopMeasuring()
  everyMs = PACES[message]
  const measured = Promise.withResolvers<void>()
  stopMeasuring = measured.resolve
  const micros = await cpu.of(async () => {
    process.send?.('begun')
    await measured.promise
  })
  process.send?.(micros)
})
process.send?.(await serve())
await ended.promise
setTimeout(() => process.exit(), 3_000).unref()

async function serve(): Promise<string> {
  if (kind === 'bare') {
    const server = await handWrittenServer(model)
    resources.defer(() => server.close())
    return server.url
  }
  const store = storeOf()
  const agent = chatModelAgent({ name: 'bench', model })
  const handler = agUiHandler({
    runner: runner({ agent, store }),
    store,
    owner: OWNER,
    maxConcurrentExecutions: 1_000,
    limits: { streamsPerUser: 1_000 },
  })
  const server = await agUiServer(handler)
  resources.defer(() => server.stop(0))
  return server.url
}

function storeOf(): Store {
  if (kind === 'memory') return resources.use(memoryStore())
  if (kind === 'postgres') return resources.use(postgresStore({ url, schema, prepareStatements: true }))
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  resources.defer(() => rmSync(folder, { recursive: true }))
  return resources.use(sqliteStore({ path: join(folder, 'bench.db') }))
}

/** Gives the processes of the database that serve this process. */
async function backendsOf(): Promise<() => Promise<readonly number[]>> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  resources.defer(() => client.end())
  return async () => {
    const { rows } = await client.query('select pid from pg_stat_activity where datname = current_database()')
    return rows.map(({ pid }) => Number(pid))
  }
}
