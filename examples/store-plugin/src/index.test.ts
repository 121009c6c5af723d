import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testStore } from '@troupe/testkit'
import { afterAll, expect, it } from 'vitest'
import { journalFile } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'journal-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `${++files}.jsonl`)
const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }

// The conformance suite: what a runner expects of a store, also of one that was closed and opened again.
testStore('journalFile', (clock) => {
  const path = newFile()
  const open = () => journalFile({ path, clock })
  return { store: open(), keeps: 'for-one-instance', reopen: open }
})

it('writes a line for each change, and none for what was refused', async () => {
  const path = newFile()
  await using store = journalFile({ path, clock: { now: () => 5 } })
  await store.threads.open(ref)
  await expect(store.threads.commit(ref, { set: { a: 1 } }, 7)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 10 })
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { at: 5, call: 'open', args: [ref] },
    { at: 5, call: 'acquire', args: [ref, { runId: 'run-1', ttlMs: 10 }] },
  ])
})

it('does not make a change that it cannot write', async () => {
  await using store = journalFile({ path: newFile() })
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
  const message = { id: 'm1', role: 'user', content: 'Hi', data: 1n } as const
  const commit = store.threads.commit(ref, { messages: [{ runId: 'run-1', message }] }, token)
  await expect(commit).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  expect((await store.threads.get(ref))?.version).toBe(0)
})

it('goes on after a crash in the middle of a line', async () => {
  const path = newFile()
  {
    await using store = journalFile({ path })
    await store.threads.open(ref)
  }
  appendFileSync(path, '{"at":1,"call":"open","ar')
  await using store = journalFile({ path })
  expect(await store.threads.list(ref)).toHaveLength(1)
  await store.threads.open({ ...ref, threadId: 'thread-2' })
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2)
})

it('takes over the lock of a process that is gone, not of one that runs', async () => {
  const path = newFile()
  writeFileSync(`${path}.lock`, `${process.ppid}`)
  await expect(journalFile({ path }).threads.open(ref)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  writeFileSync(`${path}.lock`, '4194305')
  await using store = journalFile({ path })
  expect((await store.threads.open(ref)).seq).toBe(1)
})

it('refuses a file that is not its own, and says where', async () => {
  const path = newFile()
  writeFileSync(path, 'Dear Anna,\n')
  await expect(journalFile({ path }).threads.list(ref)).rejects.toMatchObject({
    code: 'STORE_INVALID',
    message: expect.stringContaining(`${path}, line 1 is not JSON`),
  })
  await expect(journalFile({ path: join(folder, 'no/where') }).threads.list(ref)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
})

it('is closed after it was disposed, which waits for what is under way', async () => {
  const store = journalFile({ path: newFile() })
  const opened = store.threads.open(ref)
  await store[Symbol.asyncDispose]()
  expect((await opened).seq).toBe(1)
  await expect(store.threads.get(ref)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
})
