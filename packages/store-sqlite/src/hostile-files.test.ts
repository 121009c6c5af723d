import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { KernelError } from '@troupe/kernel'
import { MIGRATIONS, sqlStore } from '@troupe/store-sql'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteEngine, sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-hostile-'))
afterAll(() => rmSync(folder, { recursive: true }))
const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }

/** The error of the first use, and of `ready`, which must be the same. */
async function refused(path: string): Promise<KernelError> {
  const store = sqliteStore({ path })
  const error = await store.threads.open(ref).catch((error: unknown) => error)
  const again = await store.ready().catch((error: unknown) => error)
  await store[Symbol.asyncDispose]()
  expect(KernelError.is(error)).toBe(true)
  expect((again as KernelError).code).toBe((error as KernelError).code)
  return error as KernelError
}

describe('the pages of a file', () => {
  const sizeOf = (path: string) => {
    const raw = new DatabaseSync(path)
    const size = raw.prepare('pragma page_size').get()?.page_size
    raw.close()
    return size
  }

  it('are small, because a write writes whole pages', async () => {
    const path = join(folder, 'small-pages.db')
    await using store = sqliteStore({ path })
    await store.threads.open(ref)
    expect(sizeOf(path)).toBe(1024)
  })

  it('stay as they are in a file that exists', async () => {
    const path = join(folder, 'large-pages.db')
    const raw = new DatabaseSync(path)
    raw.exec('pragma page_size = 8192; create table of_the_app (id integer)')
    raw.close()
    await using store = sqliteStore({ path })
    await store.threads.open(ref)
    expect(sizeOf(path)).toBe(8192)
  })
})

describe('sqliteStore on a bad file', () => {
  it('that is not a database gives STORE_INVALID and is not changed', async () => {
    const path = join(folder, 'letter.txt')
    const letter = 'Dear Anna, '.repeat(1000)
    writeFileSync(path, letter)
    expect(await refused(path)).toMatchObject({ code: 'STORE_INVALID', message: expect.stringContaining(path) })
    expect(readFileSync(path, 'utf8')).toBe(letter)
  })

  it('that is newer than the code says STORE_NEWER with both versions, and changes nothing', async () => {
    const path = join(folder, 'newer.db')
    await using store = sqliteStore({ path })
    await store.threads.open(ref)
    const raw = new DatabaseSync(path)
    raw.exec('update troupe_schema set version = 99')
    raw.close()
    expect(await refused(path)).toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('update the package'),
      details: { version: 99, known: MIGRATIONS.length },
    })
  })

  it('whose folder is missing says so, and works once it is there', async () => {
    const path = join(folder, 'later', 'chat.db')
    expect(await refused(path)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('does not exist; create it first'),
    })
    await using store = sqliteStore({ path })
    await expect(store.ready()).rejects.toThrow('create it first')
    mkdirSync(join(folder, 'later'))
    await store.ready()
    expect((await store.threads.open(ref)).seq).toBe(1)
  })

  it('that is a folder says so', async () => {
    expect(await refused(folder)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('the path is a folder'),
    })
  })

  it('that may not be written says STORE_READ_ONLY', async () => {
    const [place, path] = [join(folder, 'shelf'), join(folder, 'shelf', 'chat.db')]
    mkdirSync(place)
    {
      await using store = sqliteStore({ path })
      await store.threads.list(ref)
    }
    chmodSync(path, 0o444)
    chmodSync(folder, 0o755)
    chmodSync(place, 0o777)
    const fixture = fileURLToPath(new URL('./writer.fixture.ts', import.meta.url))
    const { stdout } = spawnSync(process.execPath, ['--no-warnings', fixture, path, 'write-as-nobody'], {
      encoding: 'utf8',
    })
    expect(JSON.parse(stdout)).toMatchObject({ code: 'STORE_READ_ONLY' })
  })

  it.each([
    ['the file', 'in its last state', 0o777],
    ['the file and its folder', 'in its last state', 0o555],
    ['the file', 'that another process has open', 0o777],
    ['the file and its folder', 'that another process has open', 0o555],
  ])('where %s may only be read, and %s, can be read, and writes say STORE_READ_ONLY', async (what, open, mode) => {
    const place = join(folder, `library-${what.length}-${open.length}`)
    const path = join(place, 'chat.db')
    const shared = { ...ref, threadId: 'shared' }
    mkdirSync(place)
    const store = sqliteStore({ path })
    await store.threads.open(shared)
    const { token } = await store.leases.acquire(shared, { runId: 'run-1', ttlMs: 60_000 })
    const message = { id: 'm1', role: 'user', content: 'Hi' } as const
    const journal = { runId: 'run-1', entries: ['a'] }
    await store.threads.commit(shared, { messages: [{ runId: 'run-1', message }], journal }, token)
    await store.runLog.append(shared, 'run-1', 0, ['a'])
    const isOpen = open.startsWith('that')
    if (!isOpen) await store[Symbol.asyncDispose]()
    chmodSync(folder, 0o755)
    for (const name of readdirSync(place)) chmodSync(join(place, name), 0o444)
    chmodSync(place, mode)
    const fixture = fileURLToPath(new URL('./writer.fixture.ts', import.meta.url))
    const { stdout } = spawnSync(process.execPath, ['--no-warnings', fixture, path, 'read-as-nobody'], {
      encoding: 'utf8',
    })
    chmodSync(place, 0o755)
    if (isOpen) await store[Symbol.asyncDispose]()
    expect(JSON.parse(stdout)).toMatchObject({
      refused: Array.from({ length: 9 }, () => 'STORE_READ_ONLY'),
      threads: [{ ref: shared, unfinished: 'run-1' }],
      opened: 1,
      messages: [{ message }],
      journal,
      runs: [],
      log: [{ event: 'a' }],
    })
  })

  it('on a full disk says STORE_FULL, retryable, with nothing half written, and goes on when there is room', async () => {
    const engine = sqliteEngine({ path: join(folder, 'full.db') })
    await using store = sqlStore(engine)
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    const message = (id: string) => ({
      runId: 'run-1',
      message: { id, role: 'user', content: 'x'.repeat(5000) } as const,
    })
    const large = { set: { a: 1 }, messages: Array.from({ length: 200 }, (_, i) => message(`m${i}`)) }
    await sql`pragma max_page_count = 80`.execute(engine.db)
    const error = await store.threads.commit(ref, large, token).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_FULL', retryable: true })
    expect(await store.threads.get(ref)).toMatchObject({ version: 0, state: {} })
    expect(await store.threads.messages(ref)).toEqual([])
    await sql`pragma max_page_count = 100000`.execute(engine.db)
    expect((await store.threads.commit(ref, large, token)).version).toBe(1)
    expect(await store.threads.messages(ref, { limit: 1000 })).toHaveLength(200)
  })

  it('that another process keeps locked says STORE_BUSY, retryable, after busyTimeoutMs', async () => {
    const path = join(folder, 'busy.db')
    await using store = sqliteStore({ path, busyTimeoutMs: 20 })
    await store.threads.open(ref)
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const error = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 }).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_BUSY', retryable: true })
    expect(await store.threads.get(ref)).toBeDefined()
    other.exec('rollback')
    other.close()
    expect(await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })).toEqual({ token: expect.any(Number) })
  })

  it('is refused at construction where no file could be meant', () => {
    for (const options of [
      { path: '' },
      { path: 7 as never },
      { path: 'a', pollMs: 0 },
      { path: 'a', busyTimeoutMs: -1 },
    ]) {
      expect(() => sqliteStore(options)).toThrow('sqliteStore: ')
    }
    expect(() => sqliteStore({ path: 'a', synchronous: 'off' as never })).toThrow(
      "synchronous must be 'full' or 'normal'",
    )
  })
})
