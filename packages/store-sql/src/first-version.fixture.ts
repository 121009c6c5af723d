import { readFileSync } from 'node:fs'
import type { KernelError, Store, ThreadRef } from '@troupe/kernel'
import { type KyselyPlugin, sql } from 'kysely'
import type { Engine } from './engine.ts'

const ANNA: ThreadRef = { app: 'app', user: 'anna', threadId: 'thread-1' }
const ASKING: ThreadRef = { ...ANNA, threadId: 'asking' }
const BOB: ThreadRef = { app: 'app', user: 'b\0b', threadId: 'thread-1' }

/** The statements of a file beside this one. Contract: never edited, because databases of the first release have exactly these tables and rows. */
export function frozenStatements(
  file: 'first-version.sqlite' | 'first-version.postgres' | 'first-version-rows',
): string[] {
  const text = readFileSync(new URL(`./${file}.sql`, import.meta.url), 'utf8')
  return text.split(/;\n/).filter(Boolean)
}

/** Makes a database as the first release left it: three threads of two owners, one with a question and one with a run under way. */
export async function makeFirstVersion({ db, flavour, lockSchema }: Engine, schema?: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockSchema(tx)
    if (schema !== undefined) await sql`set local search_path to ${sql.id(schema)}`.execute(tx)
    for (const statement of [
      ...frozenStatements(`first-version.${flavour}`),
      ...frozenStatements('first-version-rows'),
    ]) {
      await sql.raw(statement).execute(tx)
    }
  })
  await db.destroy()
}

/** Reads everything of a database that `makeFirstVersion` has made. */
export async function readFirstVersion(store: Store): Promise<unknown> {
  const { signal } = new AbortController()
  const log: unknown[] = []
  for await (const batch of store.runLog.follow(ANNA, 'run-1', { live: false, signal })) log.push(...batch)
  return {
    lists: [...(await store.threads.list(ANNA)), ...(await store.threads.list(BOB))],
    threads: [await store.threads.get(ANNA), await store.threads.get(ASKING), await store.threads.get(BOB)],
    messages: [...(await store.threads.messages(ANNA)), ...(await store.threads.messages(ASKING))],
    processed: await store.threads.processed(ANNA, ['u1', 'u2']),
    runs: [...(await store.records.runs(ANNA)), ...(await store.records.runs(BOB))],
    calls: await store.records.toolCalls(ANNA, 'run-1'),
    modelCalls: await store.records.modelCalls(ANNA, 'run-1'),
    usage: await store.records.usage(ANNA),
    log,
    journals: [await store.journal.read(ANNA), ...(await store.journal.lost({ before: 1e12, limit: 10 }))],
  }
}

const USAGE = { inputTokens: 7, outputTokens: 5, cachedInputTokens: 2 }
const LOOK = { id: 'c1', name: 'look', arguments: '{"q":"sea"}' }

const ANNAS = { ref: ANNA, seq: 1, version: 1, waiting: false, updatedAt: 1013 }
const ASKS = { ref: ASKING, seq: 2, version: 1, waiting: true, updatedAt: 1016 }
const BOBS = { ref: BOB, seq: 1, version: 0, waiting: false, runId: 'run-3', updatedAt: 1010 }

/** The result of `readFirstVersion`, in every later version, at a time when the lease of the run under way has not expired. */
export const FIRST_VERSION: unknown = {
  lists: [ANNAS, ASKS, BOBS],
  threads: [
    { ...ANNAS, state: { a: 1, note: '\ud800' }, openCalls: [] },
    {
      ...ASKS,
      state: {},
      openCalls: [{ callId: 'c2', name: 'book', agentName: 'desk' }],
      checkpoint: {
        v: 1,
        runId: 'run-2',
        agentName: 'desk',
        interrupts: [{ id: 'c2#1', callId: 'c2', kind: 'approval', message: 'Book it?', agentName: 'desk' }],
        saved: { at: [] },
      },
    },
    { ...BOBS, state: {}, openCalls: [] },
  ],
  messages: [
    { seq: 1, runId: 'run-1', message: { id: 'u1', role: 'user', content: 'Hi' } },
    {
      seq: 2,
      runId: 'run-1',
      message: { id: 'a1', role: 'assistant', content: '', toolCalls: [LOOK], agentName: 'desk' },
    },
    { seq: 3, runId: 'run-1', message: { id: 't1', role: 'tool', callId: 'c1', name: 'look', content: 'blue' } },
    {
      seq: 4,
      runId: 'run-1',
      message: { id: 'a2', role: 'assistant', content: 'Hello Anna\0 💥', agentName: 'desk' },
    },
    { seq: 1, runId: 'run-2', message: { id: 'u2', role: 'user', content: 'Book' } },
    {
      seq: 2,
      runId: 'run-2',
      message: {
        id: 'a3',
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'c2', name: 'book', arguments: '{}' }],
        agentName: 'desk',
      },
    },
  ],
  processed: ['u1'],
  runs: [
    {
      seq: 1,
      runId: 'run-1',
      agentName: 'desk',
      status: 'complete',
      text: 'Hello Anna\0 💥',
      usage: USAGE,
      startedAt: 1,
      endedAt: 4,
    },
    { seq: 1, runId: 'run-3', agentName: 'desk', status: 'generating', text: '', startedAt: 9 },
  ],
  calls: [
    {
      callId: 'c1',
      runId: 'run-1',
      messageId: 'a1',
      name: 'look',
      arguments: '{"q":"sea"}',
      status: 'complete',
      result: { content: 'blue' },
      startedAt: 2,
      endedAt: 3,
    },
  ],
  modelCalls: [{ spanId: 's1', runId: 'run-1', model: 'm', usage: USAGE, finishReason: 'stop', messageId: 'a1' }],
  usage: USAGE,
  log: [
    { seq: 1, event: { type: 'RUN_STARTED' } },
    { seq: 2, event: { type: 'RUN_FINISHED' } },
  ],
  journals: [undefined],
}

/** Uses what later versions have added: a journal, its cancel, the attempts of calls, branches, permissions, and ids of runs. */
export async function useLaterVersion(store: Store): Promise<unknown> {
  const taken = await store.leases
    .acquire({ ...ANNA, threadId: 'new' }, { runId: 'run-2', ttlMs: 1000, begins: true })
    .catch((error: unknown) => (error as KernelError).code)
  const { token } = await store.leases.acquire(ANNA, { runId: 'run-4', ttlMs: 1000 })
  await store.threads.commit(ANNA, { journal: { runId: 'run-4', entries: ['a'] } }, token)
  await store.journal.append(ANNA, 'run-4', ['b'], token)
  await store.leases.requestCancel(ANNA, { mode: 'now' })
  await store.leases.release(ANNA, token)
  const again = await store.leases.acquire(ANNA, { runId: 'run-4', ttlMs: 1000 })
  const run = { runId: 'run-4', agentName: 'desk', startedAt: 20 }
  const call = { callId: 'c4', runId: 'run-4', messageId: 'a4', name: 'look', arguments: '{}', startedAt: 21 }
  await store.records.apply(ANNA, [
    { type: 'run-start', run },
    { type: 'tool-call', call: { ...call, status: 'complete', attempts: 2 } },
  ])
  const { attempts } = (await store.records.toolCalls(ANNA, 'run-4'))[0] ?? {}
  const journal = await store.journal.read(ANNA)
  const later = { runId: 'run-4', message: { id: 'u4', role: 'user', content: 'Bye' } } as const
  await store.threads.commit(ANNA, { messages: [later], set: { a: 2 }, journal: null }, again.token)
  const branch = await store.threads.fork(ANNA, { at: 'a2', to: 'branch' })
  const empty = await store.threads.fork(branch.ref, { before: 'u1', to: 'empty' })
  await store.grants.add(ANNA, { agent: '', tool: 'look', threadId: ANNA.threadId, at: 1 })
  return {
    taken,
    granted: (await store.grants.list(ANNA)).map(({ tool, threadId }) => [tool, threadId]),
    cancel: again.cancel,
    attempts,
    journal,
    states: [branch.state, empty.state],
    messages: (await store.threads.messages(branch.ref)).map(({ message }) => message.id),
    processed: await store.threads.processed(branch.ref, ['u1', 'u4']),
  }
}

/** The result of `useLaterVersion`. */
export const LATER_VERSION: unknown = {
  taken: 'RUN_ID_TAKEN',
  granted: [['look', 'thread-1']],
  cancel: 'now',
  attempts: 2,
  journal: { runId: 'run-4', entries: ['a', 'b'] },
  states: [
    { a: 1, note: '\ud800' },
    { a: 1, note: '\ud800' },
  ],
  messages: ['u1', 'a1', 't1', 'a2'],
  processed: ['u1'],
}

/** The statement that gives a run of the first release an id with slashes, and what later versions say about ids above and beside it. */
export const NAMED_RUN = "update troupe_messages set run_id = 'day/7/a' where run_id = 'run-2'"
export async function idsBesideNamed({ leases }: Store): Promise<unknown> {
  const begin = (runId: string) =>
    leases.acquire({ ...ANNA, threadId: `with ${runId}` }, { runId, ttlMs: 1000, begins: true }).then(
      () => 'free',
      (error: KernelError) => error.code,
    )
  const taken = [await begin('day'), await begin('day/7'), await begin('day/7/a/b'), await begin('run-1/x')]
  return { taken: [...new Set(taken)], free: [await begin('day/7/b'), await begin('run-2'), await begin('run-2/x')] }
}
/** The result of `idsBesideNamed`. */
export const BESIDE_NAMED: unknown = { taken: ['RUN_ID_TAKEN'], free: ['free', 'free', 'RUN_ID_TAKEN'] }

/** An engine that calls `before` with the number of each statement, counted from 1. */
export function counted(engine: Engine, before: (statement: number) => void): Engine {
  let statements = 0
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      before(++statements)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { ...engine, db: engine.db.withPlugin(plugin) }
}
