import type { KernelError, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { type ExpireOptions, expire } from './index.ts'

const DAY = 86_400_000
const ANN: ThreadRef = { app: 'app', user: 'ann', threadId: 't0' }
const inThread = (threadId: string): ThreadRef => ({ ...ANN, threadId })
const NOTHING = { threads: 0, kept: 0, records: 0, runLogs: 0, failed: 0 }

function stage() {
  const clock = fakeClock()
  const store: Store = memoryStore({ clock })
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

describe('expire', () => {
  test('keeps a thread whose run begins in between', async () => {
    const { store, clock, expired } = stage()
    await commit(store, ANN)
    clock.advance(DAY + 1)
    const { acquire } = store.leases
    let used = false
    Object.assign(store.leases, {
      acquire: async (...args: Parameters<typeof acquire>) => {
        if (!used) {
          used = true
          await commit(store, ANN)
        }
        return acquire(...args)
      },
    })
    expect(await expired()).toEqual({ ...NOTHING, kept: 1 })
    expect(await idsIn(store)).toEqual(['t0'])
    expect((await store.threads.get(ANN))?.runId).toBeUndefined()
  })

  test('goes on after a failure, and reports it', async () => {
    const { store, clock, reports, expired } = stage()
    for (let i = 0; i < 5; i++) await commit(store, inThread(`t${i}`))
    clock.advance(DAY + 1)
    const { delete: remove } = store.threads
    let calls = 0
    store.threads.delete = (ref) => (++calls % 2 ? Promise.reject(new Error('no connection')) : remove(ref))
    expect(await expired()).toEqual({ ...NOTHING, threads: 2, failed: 3 })
    expect(reports.map(({ code }) => code)).toEqual(['STORE_FAILED', 'STORE_FAILED', 'STORE_FAILED'])
    store.threads.idle = () => Promise.reject(new Error('no connection'))
    expect(await expired({ records: { endedMs: DAY } })).toEqual({ ...NOTHING, failed: 1 })
  })

  test('stops when it is aborted, and says what it did', async () => {
    const { store, clock, expired } = stage()
    for (let i = 0; i < 5; i++) await commit(store, inThread(`t${i}`))
    await ended(store, inThread('t4'), 'r1', clock.now())
    clock.advance(DAY + 1)
    const stop = new AbortController()
    const { delete: remove } = store.threads
    store.threads.delete = (ref) => {
      stop.abort()
      return remove(ref)
    }
    expect(await expired({ signal: stop.signal, records: { endedMs: DAY } })).toEqual({ ...NOTHING, threads: 1 })
  })

  test('leaves other apps alone, and all that it was not asked to delete', async () => {
    const { store, clock, expired } = stage()
    const other = { ...ANN, app: 'other' }
    for (const ref of [ANN, other]) {
      await commit(store, ref)
      await ended(store, ref, 'r1', clock.now())
    }
    clock.advance(DAY + 1)
    expect(await expire({ store, clock })).toEqual(NOTHING)
    const forApp = { threads: { idleMs: DAY }, records: { endedMs: DAY }, apps: ['other'] }
    expect(await expired({ ...forApp })).toMatchObject({ threads: 1, records: 0 })
    expect(await store.records.runs(ANN)).toHaveLength(1)
  })

  test.each<[string, object, string]>([
    ['a time', { threads: { idleMs: 0 } }, 'threads.idleMs must be a number of at least 1'],
    ['another time', { threads: { idleMs: 1, waitingMs: '1' } }, 'threads.waitingMs must be a number of at least 1'],
    ['no time', { records: {} }, 'records.endedMs must be a number of at least 1'],
    ['a name', { threads: { idleDays: 1 } }, 'idleDays'],
    ['a page', { pageSize: 1_001 }, 'pageSize must be a whole number from 1 to 1000'],
    ['apps', { apps: 'app' }, 'apps must be a list'],
  ])('says what is wrong with %s', async (_, options, message) => {
    await expect(expire({ store: memoryStore(), ...options } as ExpireOptions)).rejects.toThrow(message)
  })

  test('needs a store that can delete what it is asked to', async () => {
    const { threads, leases, records } = memoryStore()
    const { prune: _, ...plain } = records
    const store = { threads, leases, records: plain }
    await expect(expire({ store, records: { endedMs: 1 } })).rejects.toThrow('records.prune')
    await expect(expire({ store, runLogs: { endedMs: 1 } })).rejects.toThrow('runLog')
  })
})
