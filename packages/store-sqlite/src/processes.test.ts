import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KernelError } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-processes-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)
const ref = { app: 'app', user: 'anna', threadId: 'shared' }
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

function start(path: string, task: string, name = 'name'): ChildProcess {
  const fixture = fileURLToPath(new URL('./writer.fixture.ts', import.meta.url))
  return spawn(process.execPath, ['--no-warnings', fixture, path, task, name], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** What a process printed when it had ended. */
async function printed(child: ChildProcess): Promise<unknown> {
  let text = ''
  child.stdout?.on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  return JSON.parse(text)
}

describe('several processes on one file', () => {
  it('make the tables once when they start together', async () => {
    const path = file()
    const results = await Promise.all(upTo(4).map(() => printed(start(path, 'migrate'))))
    expect(results).toEqual([null, null, null, null])
    await using store = sqliteStore({ path })
    expect((await store.threads.open(ref)).seq).toBe(1)
  })

  it('get one gapless sequence together', async () => {
    const path = file()
    const seqs = await Promise.all(['a', 'b', 'c'].map((name) => printed(start(path, 'records', name))))
    expect((seqs.flat() as number[]).sort((a, b) => a - b)).toEqual(upTo(300))
  })

  it('follow what one of them writes, while it writes', async () => {
    const path = file()
    await using store = sqliteStore({ path })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, ['first'])
    const child = start(path, 'follow')
    const result = printed(child)
    await once(child.stderr as NodeJS.ReadableStream, 'data')
    for (const n of upTo(20)) await store.runLog.append(ref, 'run-1', n, [n])
    await store.runLog.append(ref, 'run-1', 21, ['last'], true)
    expect(await result).toEqual(['first', ...upTo(20), 'last'])
  })

  it('keep every event that a killed one has appended', async () => {
    const path = file()
    const child = start(path, 'append')
    let last = 0
    child.stderr?.on('data', (chunk) => {
      last = Number(String(chunk).trim().split('\n').at(-1))
      if (last >= 20) child.kill('SIGKILL')
    })
    await once(child, 'close')
    await using store = sqliteStore({ path })
    const { signal } = new AbortController()
    const batches = await Array.fromAsync(store.runLog.follow(ref, 'run-1', { live: false, signal }))
    const events = batches.flat().map(({ event }) => event)
    expect(events.length).toBeGreaterThanOrEqual(last)
    expect(events).toEqual(events.map((_, i) => `event ${i + 1}`))
  })

  it('keep what a killed one has committed, and take its lease over when it expires', async () => {
    const path = file()
    const child = start(path, 'hold', 'killed')
    await once(child.stderr as NodeJS.ReadableStream, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')
    const clock = fakeClock(Date.now())
    await using store = sqliteStore({ path, clock })
    expect(await store.threads.get(ref)).toMatchObject({ state: { by: 'killed' }, runId: 'killed', version: 1 })
    const busy = await store.leases.acquire(ref, { runId: 'next', ttlMs: 1000 }).catch((error: unknown) => error)
    expect(KernelError.is(busy, 'THREAD_BUSY')).toBe(true)
    clock.advance(120_000)
    const { token } = await store.leases.acquire(ref, { runId: 'next', ttlMs: 1000 })
    expect((await store.threads.commit(ref, { set: { by: 'next' } }, token)).version).toBe(2)
  })
})
