import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Message, RecordCommand, Store, Thread, ThreadRef } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import type { Workload } from '../measure.ts'

export const BATCH = 1_000
const EVENTS = 100
const PRIOR = 10_000
const PAGE = 100
const ref = { app: 'bench', user: 'anna', threadId: 'thread' }

/** The last number given out; each row gets a new one, so that no row is written twice. */
let last = 0
const next = () => ++last
export const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make)

export const message = (): Message => ({ id: `m${next()}`, role: 'user', content: 'How is the weather in Beijing?' })
export const toolCall = (): RecordCommand => ({
  type: 'tool-call',
  call: {
    callId: `c${next()}`,
    runId: 'run',
    messageId: 'm',
    name: 'get_weather',
    arguments: '{"city":"Beijing"}',
    status: 'complete',
    result: 'Sunny in Beijing.',
    startedAt: 1,
    endedAt: 2,
  },
})

/** A thread whose lease is held. */
interface HeldThread {
  readonly own: ThreadRef
  commit(messages: readonly Message[]): Promise<Thread>
}

/** Opens a thread and acquires its lease. */
export async function acquire(store: Store, threadId: string): Promise<HeldThread> {
  const own = { ...ref, threadId }
  await store.threads.open(own)
  const { token } = await store.leases.acquire(own, { runId: `run-${threadId}`, ttlMs: 1e12 })
  const commit = (messages: readonly Message[]) =>
    store.threads.commit(own, { messages: messages.map((message) => ({ runId: 'run', message })) }, token)
  return { own, commit }
}

/** Fills a thread whose messages have all changed the state. */
async function longThread(store: Store) {
  const own = { ...ref, threadId: 'long' }
  await store.threads.open(own)
  const { token } = await store.leases.acquire(own, { runId: 'run-long', ttlMs: 1e12 })
  const messages = Array.from({ length: PRIOR }, (_, n) => ({
    runId: 'run',
    message: { ...message(), id: `long-${n}` },
    changes: { set: { [`key-${n % 20}`]: n } },
  }))
  await store.threads.commit(own, { messages }, token)
  return own
}

/** Writes the same rows without a store: tables of the same shape, statements with as many rows. */
function handWritten(path: string) {
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec(`create table messages (thread int, seq int, id text, run_id text, message text,
    primary key (thread, seq), unique (thread, id))`)
  db.exec(`create table calls (thread int, id text, seq int, run_id text, message_id text, name text, arguments text,
    status text, result text, started_at real, ended_at real, primary key (thread, id))`)
  db.exec('create index calls_of_run on calls (thread, run_id, seq)')
  db.exec('create table events (log int, seq int, event text, primary key (log, seq))')
  let seq = 0
  const insert = (table: string, rows: readonly (readonly (string | number)[])[]) => {
    db.exec('begin immediate')
    for (let i = 0; i < rows.length; i += 500) {
      const some = rows.slice(i, i + 500)
      const marks = `(${some[0]?.map(() => '?').join(', ')})`
      db.prepare(`insert into ${table} values ${some.map(() => marks).join(', ')}`).run(...some.flat())
    }
    db.exec('commit')
  }
  const page = db.prepare('select seq, run_id, message from messages where thread = 1 and seq > ? order by seq limit ?')
  return {
    messages: async (all: readonly Message[]) =>
      insert(
        'messages',
        all.map((message) => [1, ++seq, message.id, 'run', JSON.stringify(message)]),
      ),
    calls: async (commands: readonly RecordCommand[]) =>
      insert(
        'calls',
        commands.flatMap((command) => {
          if (command.type !== 'tool-call') return []
          const { callId, runId, messageId, name, arguments: given, status, result, startedAt } = command.call
          return [[1, callId, ++seq, runId, messageId, name, given, status, JSON.stringify(result), startedAt, 2]]
        }),
      ),
    events: async (events: readonly object[]) =>
      insert(
        'events',
        events.map((event) => [1, ++seq, JSON.stringify(event)]),
      ),
    read: async () => {
      let after = 0
      for (;;) {
        const rows = page.all(after, PAGE)
        for (const row of rows) JSON.parse(String(row.message))
        if (rows.length === 0) return
        after = Number(rows.at(-1)?.seq)
      }
    },
    close: () => db.close(),
  }
}

/** Workloads of the SQLite store beside `node:sqlite` alone. Contract: `close` removes their folder. */
export async function storeWorkloads(): Promise<{ workloads: Workload[]; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  const store = sqliteStore({ path: join(folder, 'store.db') })
  const raw = handWritten(join(folder, 'raw.db'))
  const old = handWritten(join(folder, 'old.db'))
  const { commit } = await acquire(store, 'written')
  const { own: read, commit: fill } = await acquire(store, 'read')
  await fill(times(PRIOR, message))
  await old.messages(times(PRIOR, message))
  const long = await longThread(store)
  const records = { ...ref, threadId: 'records' }
  await store.threads.open(records)
  await store.records.apply(records, [{ type: 'run-start', run: { runId: 'run', agentName: 'a', startedAt: 1 } }])
  let logged = 0
  const events = () => times(EVENTS, () => ({ type: 'text-delta', messageId: 'm', delta: `word ${next()}` }))

  const workloads: Workload[] = [
    {
      name: `store: a message, ${BATCH} in a commit`,
      unit: 'row',
      units: BATCH,
      handWritten: () => raw.messages(times(BATCH, message)),
      troupe: () => commit(times(BATCH, message)),
    },
    {
      name: `store: a tool call, ${BATCH} in a batch`,
      unit: 'row',
      units: BATCH,
      handWritten: () => raw.calls(times(BATCH, toolCall)),
      troupe: () => store.records.apply(records, times(BATCH, toolCall)),
    },
    {
      name: `store: an event, ${EVENTS} in an append`,
      unit: 'event',
      units: EVENTS,
      handWritten: () => raw.events(events()),
      troupe: async () => {
        logged = await store.runLog.append(records, 'run', logged, events())
      },
    },
    {
      name: 'store: a commit of one message',
      unit: 'commit',
      units: 1,
      handWritten: () => raw.messages([message()]),
      troupe: () => commit([message()]),
    },
    {
      name: `store: a message read, ${PRIOR} in pages of ${PAGE}`,
      unit: 'row',
      units: PRIOR,
      handWritten: () => old.read(),
      async troupe() {
        let after = 0
        for (;;) {
          const page = await store.threads.messages(read, { after, limit: PAGE })
          if (page.length === 0) break
          after = page.at(-1)?.seq ?? after
        }
        if (after !== PRIOR) throw new Error(`store: expected ${PRIOR} messages, got ${after}`)
      },
    },
    {
      // The hand-written side adds one row.
      name: `store: a branch of a thread of ${PRIOR} messages`,
      unit: 'branch',
      units: 1,
      handWritten: () => raw.messages([message()]),
      troupe: () => store.threads.fork(long, { at: `long-${PRIOR / 2}`, to: `branch-${next()}` }),
    },
  ]
  return {
    workloads,
    async close() {
      await store[Symbol.asyncDispose]()
      for (const { close } of [raw, old]) close()
      rmSync(folder, { recursive: true })
    },
  }
}
