import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sameBranches } from '@troupe/store-sql/random-branches'
import { afterAll, expect, it } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-branches-'))
afterAll(() => rmSync(folder, { recursive: true }))

const TABLES = ['threads', 'segments', 'messages', 'changes', 'processed', 'blobs', 'leases']

it('keeps the same branches as the memory store, whatever is said, branched and deleted, and leaves no row of them', async () => {
  const path = join(folder, 'branches.db')
  const synchronous = 'normal'
  await using reader = sqliteStore({ path, synchronous })
  await reader.ready()
  const raw = new DatabaseSync(path)
  await sameBranches(
    async (clock, work) => {
      for (const table of ['threads', 'leases', 'run_ids', 'owners']) raw.exec(`delete from troupe_${table}`)
      await using store = sqliteStore({ path, clock: { ...clock, after: () => () => undefined }, synchronous })
      await work(store)
    },
    async () => {
      const counts = TABLES.map((table) => raw.prepare(`select count(*) as n from troupe_${table}`).get()?.n)
      return counts.reduce<number>((sum, n) => sum + Number(n), 0)
    },
    150,
  )
  raw.close()
}, 120_000)

it('makes a branch of a thread with 10,000 messages without copying them', async () => {
  const path = join(folder, 'long.db')
  await using store = sqliteStore({ path })
  const ref = { app: 'app', user: 'anna', threadId: 'long' }
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'r', ttlMs: 1000 })
  const messages = Array.from({ length: 10_000 }, (_, n) => ({
    runId: 'r',
    message: { id: `m${n}`, role: 'user' as const, content: 'text' },
    changes: { set: { count: n } },
  }))
  await store.threads.commit(ref, { messages }, token)
  const raw = new DatabaseSync(path)
  const rows = () =>
    ['messages', 'changes'].map((table) => raw.prepare(`select count(*) as n from troupe_${table}`).get()?.n)
  expect(rows()).toEqual([10_000, 10_000])
  const { state } = await store.threads.fork(ref, { at: 'm7000', to: 'branch' })
  expect(state).toEqual({ count: 7000 })
  expect(rows()).toEqual([10_000, 10_001])
  raw.close()
})
