import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { AgUiAgent, type AgUiHandler, agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { defineTool, type Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import type { TestServer } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { OWNER, readWhole, requestOf } from '../edge/run-request.ts'
import { median } from '../measure.ts'
import { bytesWritten, StackCpu } from '../stack/stack-cpu.ts'
import { scriptedModel } from '../stack/stack-script.ts'

const RESULT = 'x'.repeat(1 << 20)
const STATE = { document: 'x'.repeat(1 << 18) }
/** From how many characters on a text counts as large. */
const LARGE = 65_536
const [WARM, TURNS] = [30, 15]

/** What a turn costs whose tool returns 1 MB, on a thread with a state of 256 kB that does not change. */
export interface LargeCost {
  readonly store: string
  /** Milliseconds of CPU. */
  readonly cpu: number
  /** Large texts that were made and read as JSON. */
  readonly made: number
  readonly read: number
  /** Kilobytes. */
  readonly written: number
}

/** Measures turns over AG-UI with a large result and a large state on each store. */
export async function measureLarge(server: TestServer): Promise<readonly LargeCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const backends = async () => {
    const rows = await server.ask('select pid from pg_stat_activity where datname = current_database()')
    return rows.map(({ pid }) => Number(pid))
  }
  try {
    return [
      await turnsOn('memory', memoryStore(), new StackCpu()),
      await turnsOn('SQLite', sqliteStore({ path: join(folder, 'bench.db') }), new StackCpu()),
      await turnsOn(
        'PostgreSQL',
        postgresStore({ url: server.url, schema: server.schema(), prepareStatements: true }),
        new StackCpu(backends),
      ),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function turnsOn(name: string, open: Store, cpu: StackCpu): Promise<LargeCost> {
  await using store = open
  const lookup = defineTool({
    name: 'lookup',
    description: 'Looks up a value.',
    parameters: { type: 'object' },
    invoke: () => RESULT,
  })
  const desk = runner({ agent: chatModelAgent({ name: 'agent', model: scriptedModel, tools: [lookup] }), store })
  const agent = new AgUiAgent({ runner: desk, store, appName: OWNER.app, userId: OWNER.user })
  const handler = agUiHandler({ agent, store, owner: OWNER })
  const turn = async () => {
    const threadId = await seeded(store)
    const wrote = bytesWritten()
    const micros = await cpu.of(async () => {
      const { end } = await readWhole(await handler(requestOf(threadId)))
      if (!end.includes('"RUN_FINISHED"')) throw new Error(`bench: a run did not finish: ${end}`)
    })
    return { cpu: micros / 1_000, written: (bytesWritten() - wrote) / 1_000 }
  }
  for (let i = 0; i < WARM; i++) await turn()
  const turns: Awaited<ReturnType<typeof turn>>[] = []
  for (let i = 0; i < TURNS; i++) turns.push(await turn())
  const { made, read } = await countLarge(store, handler)
  return {
    store: name,
    cpu: median(turns.map(({ cpu }) => cpu)),
    made,
    read,
    written: median(turns.map(({ written }) => written)),
  }
}

/** Makes a thread with the large state. */
async function seeded(store: Store): Promise<string> {
  const ref = { ...OWNER, threadId: crypto.randomUUID() }
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: `seed-${ref.threadId}`, ttlMs: 60_000 })
  await store.threads.commit(ref, { set: STATE, release: true }, token)
  return ref.threadId
}

/** Counts the large texts of one more turn, with what is done to its log when it has ended. */
async function countLarge(store: Store, handler: AgUiHandler) {
  const threadId = await seeded(store)
  const { stringify, parse } = JSON
  let [made, read] = [0, 0]
  const counted = (...given: Parameters<typeof stringify>) => {
    const text = stringify(...given)
    if (text?.length > LARGE) made++
    return text
  }
  JSON.stringify = counted as typeof stringify
  JSON.parse = (...given) => {
    if (given[0]?.length > LARGE) read++
    return parse(...given)
  }
  try {
    await readWhole(await handler(requestOf(threadId)))
    await pause(100)
  } finally {
    Object.assign(JSON, { stringify, parse })
  }
  return { made, read }
}
