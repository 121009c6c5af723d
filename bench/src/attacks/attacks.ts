import type { Json, Store, ThreadRef } from '@troupe/kernel'
import { OWNER } from '../edge/run-request.ts'

/** How large everything is. */
export interface AttackSize {
  /** Characters of a thread and of a log. */
  readonly chars: number
  readonly sockets: number
  /** Threads in a list, and the characters of the state of each. */
  readonly threads: number
  readonly stateChars: number
}

/** What a client without manners does to a server. */
export interface Attack {
  readonly name: string
  /** Fills the store, in another process than the server's. */
  seed(store: Store, size: AttackSize): Promise<void>
  /** The paths that are asked for at once. */
  paths(size: AttackSize): readonly string[]
  /** Whether clients stop reading after the first bytes; otherwise they read everything. */
  readonly stalls: boolean
}

const REF: ThreadRef = { ...OWNER, threadId: 'large' }
const LENGTH = 100_000
const APPENDED = 20

export const ATTACKS: readonly Attack[] = [
  {
    name: 'stalled `connect` on a long thread',
    seed: longThread,
    paths: ({ sockets }) => times(sockets, '/threads/large/connect?protocolVersion=1.0'),
    stalls: true,
  },
  {
    name: 'stalled `connect` on a thread that is short first',
    async seed(store, size) {
      await addMessages(store, 1_000, 10)
      await longThread(store, size)
    },
    paths: ({ sockets }) => times(sockets, '/threads/large/connect?protocolVersion=1.0'),
    stalls: true,
  },
  {
    name: 'stalled `messages` of a long thread',
    seed: longThread,
    paths: ({ sockets }) => times(sockets, '/threads/large/messages?limit=1000'),
    stalls: true,
  },
  {
    name: 'parallel lists of threads with a large state',
    async seed(store, { threads, stateChars }) {
      for (let i = 0; i < threads; i++) await withState(store, `t${i}`, stateChars)
    },
    paths: ({ sockets }) => times(sockets / 2, '/threads?limit=1000'),
    stalls: false,
  },
  {
    name: 'stalled `GET /threads/:id`, the state within its limit',
    seed: (store) => withState(store, REF.threadId, 900_000),
    paths: ({ sockets }) => times(sockets * 2.5, '/threads/large'),
    stalls: true,
  },
  {
    name: 'stalled `GET /threads/:id`, the state beyond its limit',
    seed: (store) => withState(store, REF.threadId, 6_000_000),
    paths: ({ sockets }) => times(sockets * 2.5, '/threads/large'),
    stalls: true,
  },
  {
    name: 'stalled `connect`, the state beyond its limit',
    seed: (store) => withState(store, REF.threadId, 6_000_000),
    paths: ({ sockets }) => times(sockets, '/threads/large/connect?protocolVersion=1.0'),
    stalls: true,
  },
  {
    name: 'stalled followers of a long log',
    seed: (store, { chars }) => longLog(store, chars, true),
    paths: ({ sockets }) => times(sockets, '/threads/large/runs/long?protocolVersion=1.0'),
    stalls: true,
  },
  {
    name: 'followers at the end of a long log that nobody writes',
    seed: lostRun,
    paths: ({ sockets, chars }) =>
      times(sockets, `/threads/large/runs/long?protocolVersion=1.0&after=${Math.ceil(chars / LENGTH)}`),
    stalls: false,
  },
  {
    name: 'followers of a lost run whose end is in a long thread',
    seed: (store, size) => endedRun(store, size),
    paths: ({ sockets }) => times(sockets, '/threads/large/runs/long?protocolVersion=1.0&after=1'),
    stalls: false,
  },
  {
    name: 'followers of a lost run with a long log, whose end is in a long thread',
    async seed(store, size) {
      await endedRun(store, size, size.chars)
    },
    paths: ({ sockets, chars }) =>
      times(sockets, `/threads/large/runs/long?protocolVersion=1.0&after=${Math.ceil(chars / LENGTH)}`),
    stalls: false,
  },
]

function times(count: number, path: string): readonly string[] {
  return Array.from({ length: Math.ceil(count) }, () => path)
}

/** A run that broke off, in a thread that does not tell how it ended. */
async function lostRun(store: Store, size: AttackSize): Promise<void> {
  await longThread(store, size)
  await longLog(store, size.chars, false)
}

/** A run that has ended in its thread, and whose process died before the end of its log. */
async function endedRun(store: Store, size: AttackSize, logChars = 1): Promise<void> {
  await longThread(store, size)
  const { token } = await store.leases.acquire(REF, { runId: 'long', ttlMs: 600_000 })
  const message = { id: 'said', role: 'assistant', content: 'Done.' } as const
  await store.threads.commit(REF, { messages: [{ runId: 'long', message }] }, token)
  await store.leases.release(REF, token)
  await longLog(store, logChars, false)
}

function longThread(store: Store, { chars }: AttackSize): Promise<void> {
  return addMessages(store, chars / LENGTH, LENGTH)
}

async function addMessages({ threads, leases }: Store, count: number, length: number): Promise<void> {
  await threads.open(REF)
  const { token } = await leases.acquire(REF, { runId: 'before', ttlMs: 600_000 })
  for (let i = 0; i < count; i++) {
    const id = `m${length}-${i}`
    const message = { id, role: i % 2 ? 'assistant' : 'user', content: `${i} ${'x'.repeat(length)}` } as const
    await threads.commit(REF, { messages: [{ runId: 'before', message }] }, token)
  }
  await leases.release(REF, token)
}

async function longLog({ threads, runLog }: Store, chars: number, close: boolean): Promise<void> {
  await threads.open(REF)
  const count = Math.ceil(chars / LENGTH)
  for (let after = 0; after < count; ) {
    const length = Math.min(APPENDED, count - after)
    const events = Array.from({ length }, (_, i) => eventAt(after + i, count, close))
    after = await runLog.append(REF, 'long', after, events, close && after + length === count)
  }
}

function eventAt(index: number, count: number, close: boolean): Json {
  const run = { threadId: REF.threadId, runId: 'long' }
  if (index === 0) return { type: 'RUN_STARTED', ...run }
  if (index === 1) return { type: 'TEXT_MESSAGE_START', messageId: 'said', role: 'assistant' }
  if (close && index === count - 1) return { type: 'RUN_FINISHED', ...run }
  return { type: 'TEXT_MESSAGE_CONTENT', messageId: 'said', delta: `${index} ${'x'.repeat(LENGTH)}` }
}

async function withState({ threads, leases }: Store, threadId: string, chars: number): Promise<void> {
  const ref = { ...OWNER, threadId }
  await threads.open(ref)
  const { token } = await leases.acquire(ref, { runId: 'r', ttlMs: 600_000 })
  await threads.commit(ref, { set: { note: 'x'.repeat(chars) } }, token)
  await leases.release(ref, token)
}
