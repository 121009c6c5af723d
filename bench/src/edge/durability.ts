import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type ChatModel, defineTool, type JournalStore, type Json, type Store } from '@troupe/kernel'
import { measureInTurn, mediansOf } from '../measure.ts'
import { benchStores } from './bench-stores.ts'
import { OWNER } from './run-request.ts'

const TURNS = 10
/** Model calls and tool calls of a run. */
const STEPS = 2 * TURNS + 1
const ROUNDS = 15
const TIMES = 20
const SENTENCE = 'The weather in Beijing is sunny today, and it will stay so until the evening. '

/** Makes a table of what it costs to store each step of a run: in memory in CPU, in SQLite in wall time beside a bare commit of the same rows. */
export async function durabilityTable(): Promise<string> {
  await using stores = benchStores()
  const entries = await entriesOfRun(stores.memory)
  using bare = bareCommits(entries.map((entry) => JSON.stringify(entry)))
  const inMemory = [{ run: runsOf(stores.memory, 'turn') }, { run: runsOf(stores.memory, 'step') }]
  const [memoryTurn, memoryStep] = mediansOf(await measureInTurn(inMemory))
  const works = [runsOf(stores.sqlite, 'turn'), runsOf(stores.sqlite, 'step'), bare.run]
  const [sqliteTurn, sqliteStep, commits] = await inTurn(works)
  const more = (step = Number.NaN, turn = Number.NaN) => ((step - turn) / STEPS).toFixed(1)
  const each = (micros = Number.NaN) => (micros / STEPS).toFixed(1)
  return [
    `| a step of a run of ${STEPS} | in memory, µs of CPU | in SQLite, µs |\n|---|---|---|`,
    `| stored with its turn | ${each(memoryTurn)} | ${each(sqliteTurn)} |`,
    `| stored as it gets done | ${each(memoryStep)} | ${each(sqliteStep)} |`,
    `| more by | ${more(memoryStep, memoryTurn)} | ${more(sqliteStep, sqliteTurn)} |`,
    `| a bare commit of the same row | | ${each(commits)} |`,
    '',
    await bytesOf(entries, stores.memory),
  ].join('\n')
}

/** A model that calls a tool ten times and then answers; each answer is a sentence or three. */
const model: ChatModel = {
  name: 'bench',
  async *stream({ messages }) {
    const turn = messages.length - 1 - messages.findLastIndex(({ role }) => role === 'user')
    yield { type: 'text-delta', delta: SENTENCE }
    const callId = `c${turn}`
    if (turn < 2 * TURNS) {
      yield { type: 'tool-call-start', callId, name: 'look' }
      yield { type: 'tool-call-delta', callId, delta: JSON.stringify({ city: 'Beijing', days: turn }) }
      yield { type: 'tool-call-end', callId }
    }
    const usage = { inputTokens: 10, outputTokens: 10 }
    yield { type: 'finish', reason: turn < 2 * TURNS ? 'tool-calls' : 'stop', usage }
  },
}
const look = defineTool({
  name: 'look',
  description: 'Looks',
  parameters: { type: 'object' },
  invoke: () => SENTENCE.repeat(3),
})

function runnerOn(store: Store, durability: 'step' | 'turn') {
  const agent = chatModelAgent({ name: 'bench', model, tools: [look], maxIterations: 50 })
  return runner({ agent, store, durability })
}

function runsOf(store: Store, durability: 'step' | 'turn'): () => Promise<void> {
  const onStore = runnerOn(store, durability)
  return async () => {
    const threadId = crypto.randomUUID()
    const { text } = await onStore.query('Go.', { session: { ...OWNER, threadId } })
    if (text !== SENTENCE) throw new Error(`bench: the run said ${text}`)
    await store.threads.delete({ ...OWNER, threadId })
  }
}

/** The entries that the journal of a run has before its last commit. */
async function entriesOfRun(store: Store): Promise<readonly Json[]> {
  const entries: Json[] = []
  const journal: JournalStore = {
    ...store.journal,
    append(ref, runId, added, token) {
      entries.push(...added)
      return store.journal.append(ref, runId, added, token)
    },
  }
  await runsOf({ ...store, journal }, 'step')()
  if (entries.length !== STEPS) throw new Error(`bench: expected ${STEPS} entries, got ${entries.length}`)
  return entries
}

/** Commits each row by itself, with the same settings as the store. */
function bareCommits(rows: readonly string[]): Disposable & { run(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const database = new DatabaseSync(join(folder, 'bare.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE entries (id INTEGER PRIMARY KEY, entry TEXT NOT NULL)')
  const insert = database.prepare('INSERT INTO entries (entry) VALUES (?)')
  return {
    async run() {
      for (const row of rows) insert.run(row)
    },
    [Symbol.dispose]() {
      database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** The median wall time of each work in microseconds, because a commit waits for the disk; the works take turns, round by round. */
async function inTurn(works: readonly (() => Promise<void>)[]): Promise<readonly number[]> {
  const rounds: number[][] = works.map(() => [])
  for (let round = -2; round < ROUNDS; round++) {
    for (const [at, run] of round % 2 ? [...works.entries()].reverse() : works.entries()) {
      const begun = performance.now()
      for (let i = 0; i < TIMES; i++) await run()
      if (round >= 0) rounds[at]?.push(((performance.now() - begun) * 1_000) / TIMES)
    }
  }
  return rounds.map((times) => times.sort((a, b) => a - b)[ROUNDS >> 1] as number)
}

/** Compares the bytes of the journal with those of the messages that the run has said and its tools have returned. */
async function bytesOf(entries: readonly Json[], store: Store): Promise<string> {
  const session = { ...OWNER, threadId: crypto.randomUUID() }
  await runnerOn(store, 'turn').query('Go.', { session })
  const said = await store.threads.messages(session, { after: 1, limit: 1_000 })
  const size = (values: readonly unknown[]) =>
    values.reduce<number>((sum, value) => sum + JSON.stringify(value).length, 0)
  const [journal, messages] = [size(entries), size(said.map(({ message }) => message))]
  return `The journal has ${journal.toLocaleString('en')} bytes, what was said and returned ${messages.toLocaleString('en')}: ${(journal / messages).toFixed(2)}x.`
}
