import { KernelError } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const said = (id: string) => ({ runId: 'run-1', message: { id, role: 'user', content: id } as const })
const codeOf = (error: unknown) => KernelError.from(error).code
const idsOf = (rows: readonly { readonly message: { readonly id: string } }[]) => rows.map(({ message }) => message.id)

/** Another process in the middle of a transaction that has the thread. */
async function other(schema: string): Promise<{ client: PoolClient; end(): Promise<void> } & AsyncDisposable> {
  const pool = server.pool({ max: 1 })
  const client = await pool.connect()
  await client.query(`begin; select 1 from ${schema}.troupe_threads for update`)
  return {
    client,
    /** Commits once somebody waits for it. */
    async end() {
      await vi.waitFor(async () => {
        const waiting = `select 1 from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.query like '%"${schema}"%'`
        expect(await server.ask(waiting)).not.toEqual([])
      })
      await client.query('commit')
    },
    async [Symbol.asyncDispose]() {
      client.release()
      await pool.end()
    },
  }
}

describe('a commit that waited for another writer', () => {
  it('is refused if the lease is gone then', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    await using writer = await other(schema)
    await writer.client.query(`delete from ${schema}.troupe_leases`)
    const late = store.threads.commit(ref, { messages: [said('late')], openCalls: [], checkpoint: null }, token)
    await Promise.all([writer.end(), expect(late.catch(codeOf)).resolves.toBe('LEASE_LOST')])
    expect(await store.threads.messages(ref)).toEqual([])
    expect(await store.threads.get(ref)).toMatchObject({ version: 0 })
  })

  it('knows the messages that were added meanwhile, and numbers its own after them', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    await using writer = await other(schema)
    const row = `'{"id":"m1","role":"user","content":"m1"}'`
    await writer.client.query(
      `insert into ${schema}.troupe_messages (thread, seq, message_id, run_id, message) select id, 1, 'm1', 'run-1', ${row} from ${schema}.troupe_threads`,
    )
    await writer.client.query(`update ${schema}.troupe_threads set message_seq = 1, version = 1`)
    const late = store.threads.commit(ref, { messages: [said('m1'), said('m2')] }, token)
    await writer.end()
    expect(await late).toMatchObject({ version: 2 })
    expect((await store.threads.messages(ref)).map(({ seq, message }) => [seq, message.id])).toEqual([
      [1, 'm1'],
      [2, 'm2'],
    ])
  })

  it('keeps a cancel that came meanwhile for the run that it begins', async () => {
    const [schema, clock] = [server.schema(), fakeClock()]
    await using store = postgresStore({ url: server.url, schema, clock })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    await using writer = await other(schema)
    await writer.client.query(`update ${schema}.troupe_leases set cancel = 'now'`)
    const begun = store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['begun'] } }, token)
    await Promise.all([writer.end(), begun])
    clock.advance(1000)
    expect(await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })).toMatchObject({ cancel: 'now' })
  })

  it('leaves no entry to the next journal that was appended meanwhile', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    for (const [id, set] of [['m1', {}] as const, ['m2', { city: 'Rome' }] as const]) {
      await store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['begun'] } }, token)
      await using writer = await other(schema)
      await writer.client.query(
        `insert into ${schema}.troupe_journal (thread, at, entries) select id, 1, '["late"]' from ${schema}.troupe_threads`,
      )
      const last = store.threads.commit(ref, { messages: [said(id)], journal: null }, token)
      await Promise.all([writer.end(), last])
      expect(await store.journal.read(ref)).toBeUndefined()
      // With a change of the state the next commit takes several statements.
      await store.threads.commit(ref, { set, journal: { runId: 'run-1', entries: ['next'] } }, token)
      expect((await store.journal.read(ref))?.entries).toEqual(['next'])
    }
  })
})

describe('a lease that comes with its thread', () => {
  it('shows it as the last commit left it, which the statement waited for', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    await using writer = await other(schema)
    await writer.client.query(`update ${schema}.troupe_threads set version = 1, state = '{"city":"Rome"}'`)
    await writer.client.query(`delete from ${schema}.troupe_leases`)
    const [taken] = await Promise.all([
      store.leases.acquire(ref, { runId: 'run-2', ttlMs: 60_000, begins: true }),
      writer.end(),
    ])
    expect(taken.thread).toMatchObject({ version: 1, state: { city: 'Rome' } })
    expect(taken.thread).toEqual(await store.threads.get(ref))
  })

  it('shows it as it is until the lease ends, however two stores race for it', async () => {
    const schema = server.schema()
    await using a = postgresStore({ url: server.url, schema })
    await using b = postgresStore({ url: server.url, schema })
    await a.threads.open(ref)
    const seen: number[] = []
    const turns = async ({ leases, threads }: typeof a, who: string) => {
      for (let turn = 0; turn < 25; ) {
        const runId = `${who}-${turn}`
        const taken = await leases.acquire(ref, { runId, ttlMs: 60_000, begins: true }).catch(() => undefined)
        if (!taken) continue
        turn++
        // A lease that was taken in several statements comes without it.
        const thread = taken.thread === undefined ? await threads.get(ref) : taken.thread
        seen.push(thread?.version ?? -1)
        await threads.commit(
          ref,
          { messages: [said(runId)], openCalls: [], checkpoint: null, release: true },
          taken.token,
        )
      }
    }
    await Promise.all([turns(a, 'a'), turns(b, 'b')])
    expect(seen).toEqual(Array.from({ length: 50 }, (_, version) => version))
  })
})

describe('commits of two stores', () => {
  it('write what is repeated once, however both attempts race', async () => {
    const schema = server.schema()
    await using a = postgresStore({ url: server.url, schema })
    await using b = postgresStore({ url: server.url, schema })
    await a.threads.open(ref)
    const ids: string[] = []
    for (const round of upTo(30)) {
      const { token } = await a.leases.acquire(ref, { runId: `run-${round}`, ttlMs: 60_000 })
      const added = [`${round}-1`, `${round}-2`]
      ids.push(...added)
      const commit = { messages: added.map(said), openCalls: [], checkpoint: null, release: true } as const
      const threads = await Promise.all([a, b, a, b].map(({ threads }) => threads.commit(ref, commit, token)))
      expect(threads.map(({ version, runId }) => [version, runId])).toEqual(upTo(4).map(() => [round, undefined]))
      expect(idsOf(await b.threads.messages(ref))).toEqual(ids)
    }
  })

  it('add no message after a take-over, whatever the default isolation level', async () => {
    for (const level of ['read committed', 'repeatable read', 'serializable']) {
      const [schema, clock] = [server.schema(), fakeClock()]
      const url = new URL(server.url)
      url.searchParams.set('options', `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`)
      await using a = postgresStore({ url: url.href, schema, clock, listen: false })
      await using b = postgresStore({ url: server.url, schema, clock, listen: false })
      await a.threads.open(ref)
      let { token } = await a.leases.acquire(ref, { runId: 'run-0', ttlMs: 10 })
      const takeOver = async (round: number) => {
        const taken = await b.leases.acquire(ref, { runId: `run-${round}`, ttlMs: 10 })
        return { taken, seen: idsOf(await b.threads.messages(ref)) }
      }
      for (const round of upTo(15)) {
        clock.advance(10)
        const [{ taken, seen }, ...codes] = await Promise.all([
          takeOver(round),
          ...upTo(6).map((n) =>
            a.threads.commit(ref, { messages: [said(`${round}-${n}`)] }, token).then(() => 'written', codeOf),
          ),
        ])
        expect(codes.filter((code) => code !== 'written' && code !== 'LEASE_LOST')).toEqual([])
        expect(idsOf(await a.threads.messages(ref)), `${level}, round ${round}`).toEqual(seen)
        token = taken.token
      }
    }
  })

  it('leave out what a branch shares with its source', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    const first = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    const commit = { messages: [said('m1'), said('m2')], processed: ['f1'], release: true } as const
    await store.threads.commit(ref, commit, first.token)
    const { ref: branch } = await store.threads.fork(ref, { at: 'm1', to: 'branch' })
    const { token } = await store.leases.acquire(branch, { runId: 'run-2', ttlMs: 60_000 })
    await store.threads.commit(branch, { messages: [said('m1'), said('m2')], processed: ['f1', 'f2'] }, token)
    await store.threads.commit(branch, { messages: [said('m3')], processed: ['f1', 'f2', 'f3'] }, token)
    expect(idsOf(await store.threads.messages(branch))).toEqual(['m1', 'm2', 'm3'])
    expect(await store.threads.processed(branch, ['f1', 'f2', 'f3'])).toEqual(['f1', 'f2', 'f3'])
    expect(idsOf(await store.threads.messages(ref))).toEqual(['m1', 'm2'])
  })
})

describe('a batch of records', () => {
  it('is written whatever its rows are and how large they are', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema })
    await store.threads.open(ref)
    const startedAt = 1.5
    const text = 'quotes " and \\ and \n and \u{1f600} and \ud800 and \0'
    const call = {
      runId: 'run-1',
      messageId: 'm1',
      name: text,
      arguments: text,
      status: 'complete',
      startedAt,
    } as const
    const batch = (result: string) =>
      store.records.apply(ref, [
        { type: 'run-start', run: { runId: 'run-1', agentName: text, startedAt } },
        ...upTo(3).map(
          (n) => ({ type: 'tool-call', call: { ...call, callId: `${result.length}-${n}`, result } }) as const,
        ),
        { type: 'run-text', runId: 'run-1', offset: 0, text },
      ])
    // The second does not fit into one statement.
    const results = [text, 'x'.repeat(6_000_000)]
    for (const result of results) await batch(result)
    const calls = await store.records.toolCalls(ref, 'run-1')
    expect(
      calls.map(({ callId, name, result }) => [callId, name === text, result === results[0] || result === results[1]]),
    ).toEqual(results.flatMap((result) => upTo(3).map((n) => [`${result.length}-${n}`, true, true])))
    expect(await store.records.runs(ref)).toMatchObject([{ runId: 'run-1', agentName: text, text, startedAt }])
  })
})
