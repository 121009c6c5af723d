import { KernelError } from '@troupe/kernel'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { type PostgresPool, type PostgresStore, postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }
const other = { ...ref, threadId: 'thread-2' }
const codeOf = (error: unknown) => KernelError.from(error).code

/** Holds the rows of a thread in a transaction that does nothing more. */
async function freeze(schema: string): Promise<PoolClient & AsyncDisposable> {
  const pool = server.pool({ max: 1 })
  const client = await pool.connect()
  await client.query('begin')
  for (const table of ['threads', 'leases', 'run_logs']) {
    await client.query(`select 1 from ${schema}.troupe_${table} for update`)
  }
  return Object.assign(client, {
    async [Symbol.asyncDispose]() {
      await client.query('rollback')
      client.release()
      await pool.end()
    },
  })
}

/** A thread with a lease and an open journal. */
async function begun(store: PostgresStore): Promise<number> {
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
  await store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['a'] } }, token)
  await store.runLog.append(ref, 'run-1', 0, ['a'])
  return token
}

/** Every way to write to a thread. */
function writes(store: PostgresStore, token: number): (() => Promise<unknown>)[] {
  return [
    () => store.threads.commit(ref, { set: { a: 1 } }, token),
    () => store.journal.append(ref, 'run-1', ['b'], token),
    () => store.leases.acquire(ref, { runId: 'run-2', ttlMs: 1000 }),
    () => store.leases.renew(ref, token, 60_000),
    () => store.leases.requestCancel(ref, { mode: 'now' }),
    () => store.runLog.append(ref, 'run-1', 1, ['b']),
    () => store.records.apply(ref, [{ type: 'run-start', run: { runId: 'r', agentName: 'a', startedAt: 1 } }]),
    () => store.threads.delete(ref),
    () => store.leases.release(ref, token),
  ]
}

describe.each(['url', 'pool'] as const)('a transaction that froze elsewhere, with a store on a %s', (kind) => {
  it('lets every write give up with a retryable STORE_BUSY after lockTimeoutMs, and takes no connection for longer', async () => {
    const [schema, pool] = [server.schema(), server.pool({ max: 3 })]
    const place = kind === 'url' ? { url: server.url, maxConnections: 3 } : { pool }
    {
      await using store = postgresStore({ ...place, schema, listen: false, lockTimeoutMs: 100 })
      const token = await begun(store)
      await using _frozen = await freeze(schema)
      const codes = await Promise.all(writes(store, token).map((write) => write().catch((error: unknown) => error)))
      for (const error of codes) expect(error).toMatchObject({ code: 'STORE_BUSY', retryable: true })
      expect((await store.threads.open(other)).seq).toBe(2)
      expect((await store.threads.list(ref)).length).toBe(2)
    }
    await pool.end()
  })

  it('leaves the settings of the connection as they were', async () => {
    const [schema, pool] = [server.schema(), server.pool({ max: 1 })]
    await using store = postgresStore({ pool, schema, listen: false })
    const token = await begun(store)
    for (const write of writes(store, token)) await write().catch(codeOf)
    for (const name of ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']) {
      expect((await pool.query(`select current_setting('${name}') as now`)).rows).toEqual([{ now: '0' }])
    }
    await pool.end()
  })
})

describe('a write that its caller has given up', () => {
  it('is not carried out later: the server gives it up first', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema, listen: false, timeoutMs: 200 })
    await store.threads.open(ref)
    {
      await using _frozen = await freeze(schema)
      const holder = { runId: 'run-1', ttlMs: 60_000, begins: true }
      const error = await store.leases.acquire(ref, holder).catch((error: unknown) => error)
      expect(error).toMatchObject({ code: 'STORE_BUSY', retryable: true })
    }
    expect((await store.threads.open(other)).seq).toBe(2)
    expect(await server.ask(`select run_id from ${schema}.troupe_leases`)).toEqual([])
  })
})

/** A pool whose process stops before it sends the statement that begins with `at`, until it is thawed. */
function frozenBefore(at: string): {
  readonly pool: PostgresPool
  readonly reached: Promise<void>
  thaw(): Promise<void>
} {
  const pool = server.pool({ max: 1 })
  const [reached, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let armed = true
  return {
    pool: {
      async connect() {
        const client = await pool.connect()
        return {
          async query(config) {
            if (armed && (config as { text: string }).text.startsWith(at)) {
              armed = false
              reached.resolve()
              await thawed.promise
            }
            return client.query(config as never)
          },
          release: (destroy) => client.release(destroy),
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
        }
      },
      end: () => pool.end(),
      on: (event, listener) => pool.on(event, listener),
      off: (event, listener) => pool.off(event, listener),
    },
    reached: reached.promise,
    async thaw() {
      thawed.resolve()
      await pool.end()
    },
  }
}

describe('a replica that froze in its transaction', () => {
  it('is ended by the server after idleTransactionMs, so that others are served, and writes nothing when it thaws', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: server.url, schema, listen: false })
    const token = await begun(store)
    const frozen = frozenBefore('update')
    {
      await using replica = postgresStore({ pool: frozen.pool, schema, listen: false, idleTransactionMs: 100 })
      const late = replica.threads.commit(ref, { set: { late: true } }, token).catch((error: unknown) => error)
      await frozen.reached
      await vi.waitFor(() => store.threads.commit(ref, { set: { served: true } }, token), { timeout: 5000 })
      const thawed = frozen.thaw()
      expect(await late).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, details: {} })
      await thawed
    }
    expect((await store.threads.get(ref))?.state).toEqual({ served: true })
  })

  it('is not waited for by statements that the server could not end otherwise', async () => {
    const schema = server.schema()
    await using store = postgresStore({
      url: server.url,
      schema,
      listen: false,
      lockTimeoutMs: 0,
      statementTimeoutMs: 100,
    })
    const token = await begun(store)
    await using _frozen = await freeze(schema)
    const error = await store.threads.commit(ref, { set: { a: 1 } }, token).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, details: {} })
  })
})

describe('threads.list', () => {
  it('reads its page from an index, in either order, however many threads the owner has', async () => {
    const schema = server.schema()
    const texts: string[] = []
    const pool = server.pool()
    const seen: PostgresPool = {
      async connect() {
        const client = await pool.connect()
        const query = client.query.bind(client)
        return Object.assign(Object.create(client), {
          query(config: { text: string; values: unknown[] }) {
            texts.push(config.text)
            return query(config as never)
          },
        })
      },
      end: () => pool.end(),
      on: (event, listener) => pool.on(event, listener),
      off: (event, listener) => pool.off(event, listener),
    }
    {
      await using store = postgresStore({ pool: seen, schema, listen: false })
      await store.threads.open(ref)
      await server.ask(
        `insert into ${schema}.troupe_threads
           (owner, thread_id, seq, version, state, open_calls, message_seq, run_seq, call_seq, updated_at)
         select owner, 'many-' || n, n + 1, 0, '{}', '[]', 0, 0, 0, n
         from ${schema}.troupe_threads, generate_series(1, 50000) as n`,
      )
      await server.ask(`analyze ${schema}.troupe_threads, ${schema}.troupe_owners, ${schema}.troupe_leases`)
      for (const page of [{ limit: 20 }, { limit: 20, newestFirst: true }, { after: 40_000, limit: 20 }]) {
        texts.length = 0
        const threads = await store.threads.list(ref, page)
        expect(threads).toHaveLength(20)
        expect(texts.at(-1)).not.toMatch(/state|open_calls|checkpoint/)
        const values = [ref.app, ref.user, page.after ?? (page.newestFirst ? 1e15 : 0), page.limit]
        const rows = await server.ask(`explain (analyze, costs off, timing off) ${texts.at(-1)}`, values)
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        expect(plan).toContain('Index Scan')
        expect(plan).toContain('using troupe_threads_seq')
        expect(plan).not.toContain('Sort')
        expect(plan).not.toContain('Seq Scan on troupe_threads')
      }
    }
    await pool.end()
  })
})
