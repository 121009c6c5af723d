import type { KernelError, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ExpireOptions, expire } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'

const DAY = 86_400_000
const ANN: ThreadRef = { app: 'app', user: 'ann', threadId: 't0' }
const inThread = (threadId: string): ThreadRef => ({ ...ANN, threadId })
const OPEN: ThreadCommit = { openCalls: [{ callId: 'c1', name: 'pick', agentName: 'desk' }] }
const NOTHING = { threads: 0, kept: 0, records: 0, runLogs: 0, failed: 0 }

function stage(make: (clock: ReturnType<typeof fakeClock>) => Store) {
  const clock = fakeClock()
  const store = make(clock)
  const reports: KernelError[] = []
  const expired = (options: Partial<ExpireOptions> = {}) =>
    expire({ store, clock, threads: { idleMs: DAY }, report: (error) => void reports.push(error), ...options })
  return { clock, store, reports, expired }
}

async function commit(store: Store, ref: ThreadRef, change: ThreadCommit = {}): Promise<void> {
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'run', ttlMs: 1_000 })
  await store.threads.commit(ref, change, token)
  await store.leases.release(ref, token)
}

async function ended(store: Store, ref: ThreadRef, runId: string, endedAt: number): Promise<void> {
  await store.records.apply(ref, [
    { type: 'run-start', run: { runId, agentName: 'agent', startedAt: endedAt } },
    { type: 'run-finish', runId, status: 'complete', endedAt },
  ])
}

const idsIn = async (store: Store) => (await store.threads.list(ANN, { limit: 1_000 })).map(({ ref }) => ref.threadId)

describe.each<[string, (clock: ReturnType<typeof fakeClock>) => Store]>([
  ['in memory', (clock) => memoryStore({ clock })],
  ['in SQLite', (clock) => sqliteStore({ path: ':memory:', clock })],
])('expire %s', (_, make) => {
  test('deletes idle threads with all they have, among many that stay', async () => {
    const { store, clock, expired } = stage(make)
    for (let i = 0; i < 25; i++) await commit(store, inThread(`waits${i}`), OPEN)
    for (let i = 0; i < 25; i++) await commit(store, inThread(`idle${i}`))
    await ended(store, inThread('idle0'), 'r1', clock.now())
    clock.advance(DAY)
    await commit(store, inThread('used'))
    clock.advance(1)
    expect(await expired({ pageSize: 10 })).toEqual({ ...NOTHING, threads: 25, kept: 25 })
    expect((await idsIn(store)).filter((id) => !id.startsWith('waits'))).toEqual(['used'])
    await store.threads.open(inThread('idle0'))
    expect(await store.records.runs(inThread('idle0'))).toEqual([])
    expect(await expired({ pageSize: 10 })).toEqual({ ...NOTHING, kept: 25 })
    await store[Symbol.asyncDispose]()
  })

  test('keeps threads that wait, are held or have an unfinished run, unless the app says how long', async () => {
    const { store, clock, expired } = stage(make)
    await commit(store, inThread('waits'), OPEN)
    await commit(store, inThread('lost'), { journal: { runId: 'run', entries: [] } })
    await store.threads.open(inThread('held'))
    clock.advance(2 * DAY)
    const { token } = await store.leases.acquire(inThread('held'), { runId: 'r', ttlMs: 3 * DAY })
    expect(await expired()).toEqual({ ...NOTHING, kept: 2 })
    expect(await expired({ threads: { idleMs: DAY, waitingMs: 3 * DAY } })).toMatchObject({ threads: 0 })
    expect(await expired({ threads: { idleMs: 4 * DAY, waitingMs: DAY } })).toMatchObject({ threads: 2 })
    expect(await idsIn(store)).toEqual(['held'])
    await store.leases.release(inThread('held'), token)
    expect(await expired()).toMatchObject({ threads: 1 })
    await store[Symbol.asyncDispose]()
  })

  test('leaves branches readable', async () => {
    const { store, clock, expired } = stage(make)
    await commit(store, ANN, { messages: [{ runId: 'run', message: { id: 'm1', role: 'user', content: 'Hi' } }] })
    clock.advance(DAY + 1)
    await store.threads.fork(ANN, { at: 'm1', to: 'branch' })
    expect(await expired()).toMatchObject({ threads: 1 })
    expect(await store.threads.messages(inThread('branch'))).toHaveLength(1)
    await store[Symbol.asyncDispose]()
  })

  test('deletes records and logs of runs that ended long ago, page by page, and leaves their threads', async () => {
    const { store, clock, expired } = stage(make)
    await store.threads.open(ANN)
    for (let i = 0; i < 25; i++) {
      await ended(store, ANN, `old${i}`, clock.now())
      await store.runLog.append(ANN, `old${i}`, 0, ['a'], true)
    }
    clock.advance(2 * DAY)
    await ended(store, ANN, 'new', clock.now())
    const limits = { records: { endedMs: DAY }, runLogs: { endedMs: DAY } }
    expect(await expired({ store, clock, ...limits, threads: { idleMs: 3 * DAY }, pageSize: 10 })).toEqual({
      ...NOTHING,
      records: 25,
      runLogs: 25,
    })
    expect((await store.records.runs(ANN)).map(({ runId }) => runId)).toEqual(['new'])
    await store[Symbol.asyncDispose]()
  })

  test('does no harm if two processes do it at once', async () => {
    const { store, clock, expired } = stage(make)
    for (let i = 0; i < 20; i++) await commit(store, inThread(`t${i}`))
    await store.threads.open(inThread('stays'))
    await commit(store, inThread('stays'), OPEN)
    clock.advance(DAY + 1)
    const [one, other] = await Promise.all([expired({ pageSize: 3 }), expired({ pageSize: 4 })])
    expect((one?.threads ?? 0) + (other?.threads ?? 0)).toBe(20)
    expect(one?.failed).toBe(0)
    expect(await idsIn(store)).toEqual(['stays'])
    await store[Symbol.asyncDispose]()
  })
})
