import { getEventListeners } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-two-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)
const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const said = (id: string) => ({ runId: 'run-1', message: { id, role: 'user', content: id } as const })
const codeOf = (error: unknown) => KernelError.from(error).code

describe('two stores on one file', () => {
  it('give 64 writers of 200 runs each one gapless sequence', async () => {
    const path = file()
    await using a = sqliteStore({ path, synchronous: 'normal' })
    await using b = sqliteStore({ path, synchronous: 'normal', busyTimeoutMs: 60_000 })
    await a.threads.open(ref)
    const seqs = await Promise.all(
      upTo(64).map(async (writer) => {
        const { records } = writer % 2 ? a : b
        const seqs: number[] = []
        for (const n of upTo(200)) {
          const run = { runId: `${writer}/${n}`, agentName: 'agent', startedAt: n }
          const [result] = await records.apply(ref, [{ type: 'run-start', run }])
          seqs.push(result?.seq ?? 0)
        }
        return seqs
      }),
    )
    expect(seqs.every((own) => own.every((seq, i) => i === 0 || seq > (own[i - 1] ?? 0)))).toBe(true)
    expect(seqs.flat().sort((x, y) => x - y)).toEqual(upTo(64 * 200))
  }, 30_000)

  it('fence a writer whose lease the other took over', async () => {
    const [path, clock] = [file(), fakeClock()]
    await using a = sqliteStore({ path, clock })
    await using b = sqliteStore({ path, clock })
    await a.threads.open(ref)
    const { token: stale } = await a.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    await a.records.apply(ref, [{ type: 'run-start', run: { runId: 'run-1', agentName: 'agent', startedAt: 1 } }])
    clock.advance(1000)
    const { token } = await b.leases.acquire(ref, { runId: 'run-2', ttlMs: 1000 })
    await b.threads.commit(ref, { messages: [said('m1')] }, token)
    expect(await a.threads.commit(ref, { messages: [said('late')] }, stale).catch(codeOf)).toBe('LEASE_LOST')
    expect(await a.leases.renew(ref, stale, 1000).catch(codeOf)).toBe('LEASE_LOST')
    const late = { type: 'run-text', runId: 'run-1', offset: 0, text: 'late' } as const
    expect(await a.records.apply(ref, [late])).toEqual([{ runId: 'run-1', refused: true }])
    expect((await a.threads.messages(ref)).map(({ message }) => message.id)).toEqual(['m1'])
    expect((await a.records.runs(ref))[0]).toMatchObject({ status: 'failed', error: { code: 'LEASE_LOST' } })
  })

  it('do not let a late write undo what the other deleted', async () => {
    const path = file()
    await using a = sqliteStore({ path })
    await using b = sqliteStore({ path })
    await a.threads.open(ref)
    const { token } = await a.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    await a.runLog.append(ref, 'run-1', 0, [1])
    await a.threads.commit(ref, { journal: { runId: 'run-1', entries: ['a'] } }, token)
    expect(await b.threads.delete(ref)).toBe(true)
    await b.threads.open(ref)
    expect(await a.threads.commit(ref, { messages: [said('late')] }, token).catch(codeOf)).toBe('LEASE_LOST')
    expect(await a.runLog.append(ref, 'run-1', 1, [2]).catch(codeOf)).toBe('VERSION_CONFLICT')
    expect(await a.journal.append(ref, 'run-1', ['b'], token).catch(codeOf)).toBe('LEASE_LOST')
    expect(await b.threads.messages(ref)).toEqual([])
    const raw = new DatabaseSync(path)
    const records = ['runs', 'run_texts', 'tool_calls', 'usage']
    const tables = [...records, 'messages', 'run_logs', 'run_events', 'journal', 'leases']
    for (const table of tables) expect(raw.prepare(`select count(*) as n from troupe_${table}`).get()).toEqual({ n: 0 })
    raw.close()
  })
})

describe('a live follower', () => {
  it('looks for what others wrote only while it waits, and leaves no timer when it stops', async () => {
    const [path, clock] = [file(), fakeClock()]
    await using store = sqliteStore({ path, clock, pollMs: 100 })
    await using other = sqliteStore({ path, clock })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, ['a'])
    const abort = new AbortController()
    const follower = store.runLog.follow(ref, 'run-1', { signal: abort.signal })[Symbol.asyncIterator]()
    await follower.next()
    expect(clock.pending).toBe(0)
    const next = follower.next()
    await other.runLog.append(ref, 'run-1', 1, ['b'])
    expect(clock.pending).toBe(1)
    clock.advance(100)
    expect((await next).value).toEqual([{ seq: 2, event: 'b' }])
    expect(clock.pending).toBe(0)
    const end = follower.next()
    await other.threads.get(ref)
    expect(clock.pending).toBe(1)
    abort.abort()
    expect((await end).done).toBe(true)
    expect(clock.pending).toBe(0)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
  })

  it('gets a long log in batches of bounded size', async () => {
    await using store = sqliteStore({ path: ':memory:' })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, upTo(5000), true)
    const sizes: number[] = []
    const { signal } = new AbortController()
    for await (const batch of store.runLog.follow(ref, 'run-1', { signal })) sizes.push(batch.length)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5000)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(500)
  })
})

describe('sqliteStore', () => {
  it('is STORE_CLOSED after it was disposed, which can be done twice and waits for what is under way', async () => {
    const store = sqliteStore({ path: file() })
    const opened = store.threads.open(ref)
    await Promise.all([store[Symbol.asyncDispose](), store[Symbol.asyncDispose]()])
    expect((await opened).seq).toBe(1)
    expect(await store.threads.get(ref).catch(codeOf)).toBe('STORE_CLOSED')
    await store[Symbol.asyncDispose]()
  })

  it('can be disposed without having been used, and makes no file', async () => {
    const path = file()
    await sqliteStore({ path })[Symbol.asyncDispose]()
    expect(() => new DatabaseSync(path, { readOnly: true })).toThrow()
  })

  it('keeps a text of a megabyte, cut anywhere, and grows it by what is added', async () => {
    await using store = sqliteStore({ path: ':memory:' })
    await store.threads.open(ref)
    const text = '👩‍🚀\0é'.repeat(150_000)
    const write = (offset: number, text: string) => ({ type: 'run-text', runId: 'run-1', offset, text }) as const
    const run = { runId: 'run-1', agentName: 'agent', startedAt: 1 }
    await store.records.apply(ref, [{ type: 'run-start', run }, write(0, text)])
    for (let i = 0; i < 10; i++) await store.records.apply(ref, [write(text.length + i, 'x')])
    await store.records.apply(ref, [write(text.length + 5, '\ud83d'), write(text.length + 6, '\udc4d')])
    expect((await store.records.runs(ref))[0]?.text).toBe(`${text}xxxxx👍`)
    await store.records.apply(ref, [write(1, 'end')])
    expect((await store.records.runs(ref))[0]?.text).toBe('\ud83dend')
  })

  it('refuses a message that is too large, keeps nothing of its commit, and takes the next one', async () => {
    await using store = sqliteStore({ path: ':memory:' })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 10_000 })
    const said = (id: string, content: string) => ({ runId: 'run-1', message: { id, role: 'user', content } as const })
    const messages = [said('m1', 'small'), said('m2', 'x'.repeat(2 ** 26))]
    const error = await store.threads.commit(ref, { messages }, token).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', message: expect.stringContaining('at most 67108864') })
    expect(await store.threads.messages(ref)).toEqual([])
    expect((await store.threads.commit(ref, { messages: messages.slice(0, 1) }, token)).version).toBe(1)
  })

  it('keeps ids that databases trip over apart, and refuses those that no index takes', async () => {
    await using store = sqliteStore({ path: ':memory:' })
    const ids = ['a\0', 'a\0b', 'a', '\ud800', '\ufffd', 'é', 'e\u0301', '💥'.repeat(200)]
    for (const threadId of ids) expect((await store.threads.open({ ...ref, threadId })).ref.threadId).toBe(threadId)
    expect((await store.threads.list(ref)).map(({ ref }) => ref.threadId)).toEqual(ids)
    const long = { ...ref, threadId: 'x'.repeat(1001) }
    expect(await store.threads.open(long).catch(codeOf)).toBe('VALIDATION_FAILED')
  })

  it('pages through 10,000 messages without reading the thread as a whole', async () => {
    const path = file()
    await using store = sqliteStore({ path })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    await store.threads.commit(ref, { messages: upTo(10_000).map((n) => said(`m${n}`)) }, token)
    const seen: number[] = []
    for (let page = await store.threads.messages(ref, { limit: 500 }); page.length > 0; ) {
      seen.push(...page.map(({ seq }) => seq))
      page = await store.threads.messages(ref, { limit: 500, after: seen.at(-1) ?? 0 })
    }
    expect(seen).toEqual(upTo(10_000))
    const raw = new DatabaseSync(path)
    const plan = raw.prepare(
      `explain query plan select m.seq from troupe_segments s join troupe_messages m on m.thread = s.source
       and m.seq > case when s.after > 5 then s.after else 5 end and m.seq <= case when s.upto < 10 then s.upto else 10 end
       where s.thread = 1 order by s.upto, m.seq`,
    )
    const steps = JSON.stringify(plan.all())
    expect(steps).toContain('thread=? AND seq>? AND seq<?')
    expect(steps).not.toContain('TEMP B-TREE')
    raw.close()
  })

  it('finds lost runs without reading the threads that have none', async () => {
    const path = file()
    await using store = sqliteStore({ path })
    await store.ready()
    const raw = new DatabaseSync(path)
    const plan = raw.prepare(
      'explain query plan select t.id, (select max(id) from troupe_journal where thread = t.id) from troupe_threads t where t.unfinished is not null',
    )
    expect(JSON.stringify(plan.all())).toMatch(/troupe_threads_unfinished.*troupe_journal_thread/)
    raw.close()
  })
})
