import { getEventListeners } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { KernelError } from '@troupe/kernel'
import type { Pool, PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startPostgres, type TestServer } from './postgres.fixture.ts'
import { type PostgresPool, postgresStore } from './postgres-store.ts'

let server: TestServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const ref = { app: 'app', user: 'anna', threadId: 'thread-1' }
const said = (id: string) => ({ runId: 'run-1', message: { id, role: 'user', content: id } as const })
const codeOf = (error: unknown) => KernelError.from(error).code

/** A pool that calls `before` with each statement and the server's process that will get it. */
function watched(pool: Pool, before: (text: string, pid: number) => Promise<void>): PostgresPool {
  return {
    async connect() {
      const client: PoolClient & { readonly processID?: number } = await pool.connect()
      return {
        async query(config) {
          await before((config as { text: string }).text, client.processID ?? 0)
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
  }
}

/** Accepts connections and never answers. */
async function silentServer() {
  const sockets = new Set<Socket>()
  const { promise: called, resolve } = Promise.withResolvers<void>()
  const silent = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    resolve()
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  return {
    url: `postgres://nobody@127.0.0.1:${port}/nothing`,
    called,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => silent.close(resolve))
    },
  }
}

/** The server's address with an application name, to distinguish its connections. */
function urlAs(name: string, database?: string): string {
  const url = new URL(server.url)
  url.searchParams.set('application_name', name)
  if (database) url.pathname = `/${database}`
  return url.href
}

/** The processes of the server that listen under a name. */
const listeners = (name: string) =>
  server.ask(`select pid from pg_stat_activity where query like 'listen%' and application_name = $1`, [name])

describe('a connection lost in a transaction', () => {
  it('gives a retryable STORE_UNAVAILABLE at every statement, with nothing half written', async () => {
    const pool = server.pool()
    let killAt = Number.POSITIVE_INFINITY
    let statements: string[] = []
    const deadly = watched(pool, async (text, pid) => {
      statements.push(text)
      if (statements.length !== killAt) return
      await server.ask('select pg_terminate_backend($1)', [pid])
    })
    await using store = postgresStore({ pool: deadly, schema: server.schema(), listen: false })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    const commit = { set: { a: 1 }, messages: [said('m1'), said('m2')], processed: ['p'] }
    const before = await store.threads.get(ref)
    for (let n = 1; ; n++) {
      statements = []
      killAt = n
      const result = await store.threads.commit(ref, commit, token).catch((error: unknown) => error)
      killAt = Number.POSITIVE_INFINITY
      if (!(result instanceof Error)) break
      expect(result, statements.at(-1) ?? '').toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true })
      const committing = statements.at(-1) === 'commit'
      expect((result as KernelError).details).toEqual(committing ? { outcome: 'unknown' } : {})
      expect(await store.threads.get(ref)).toEqual(before)
      expect(await store.threads.messages(ref)).toEqual([])
      expect(await store.threads.processed(ref, ['p'])).toEqual([])
    }
    expect(statements.length).toBeGreaterThan(6)
    expect(await store.threads.messages(ref)).toHaveLength(2)
    await pool.end()
  })

  it('leaves the outcome of an append to a journal unknown, which is one statement', async () => {
    const pool = server.pool()
    let kill = false
    const deadly = watched(pool, async (_, pid) => {
      if (kill) await server.ask('select pg_terminate_backend($1)', [pid])
      kill = false
    })
    await using store = postgresStore({ pool: deadly, schema: server.schema(), listen: false })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    await store.threads.commit(ref, { journal: { runId: 'run-1', entries: ['a'] } }, token)
    kill = true
    const error = await store.journal.append(ref, 'run-1', ['b'], token).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, details: { outcome: 'unknown' } })
    kill = true
    const read = await store.journal.read(ref).catch((error: unknown) => error)
    expect(read).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true, details: {} })
    await store.journal.append(ref, 'run-1', ['c'], token)
    expect((await store.journal.read(ref))?.entries).toEqual(['a', 'c'])
    await pool.end()
  })

  it('is found at the next use when it was idle, and costs no more than one error', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: urlAs(schema), schema, maxConnections: 1, listen: false })
    await store.threads.open(ref)
    const [own] = await server.ask('select pid from pg_stat_activity where application_name = $1', [schema])
    expect(own).toBeDefined()
    await server.ask('select pg_terminate_backend($1)', [own?.pid])
    await vi.waitFor(async () => expect((await store.threads.get(ref))?.seq).toBe(1))
  })
})

describe('a server that does not serve', () => {
  it('is a retryable STORE_UNAVAILABLE where it cannot be reached', async () => {
    await using store = postgresStore({ url: 'postgres://nobody@localhost/postgres?host=/nowhere' })
    expect(await store.ready().catch((error: unknown) => error)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
    })
  })

  it('is a retryable STORE_UNAVAILABLE where the server accepts the connection and never answers', async () => {
    await using silent = await silentServer()
    await using store = postgresStore({ url: silent.url, timeoutMs: 100 })
    expect(await store.ready().catch((error: unknown) => error)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
    })
  })

  it('is a STORE_UNAVAILABLE that is not retryable where the database is unknown', async () => {
    await using store = postgresStore({ url: urlAs('test', 'unknown') })
    const error = await store.ready().catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false })
    expect((error as Error).message).toContain('check the url')
  })

  it.each([
    ['than the server may work on it', { lockTimeoutMs: 0 }],
    ['than timeoutMs, if the server has no limit', { lockTimeoutMs: 0, statementTimeoutMs: 0 }],
  ])(
    'is a retryable STORE_UNAVAILABLE when a statement takes longer %s, and serves again later',
    async (_what, limits) => {
      const schema = server.schema()
      await using store = postgresStore({ url: server.url, schema, timeoutMs: 200, listen: false, ...limits })
      await store.threads.open(ref)
      const other = server.pool({ max: 1 })
      const client = await other.connect()
      await client.query('begin')
      await client.query(`lock table ${schema}.troupe_leases in access exclusive mode`)
      const take = () => store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
      expect(await take().catch((error: unknown) => error)).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: true,
      })
      await client.query('rollback')
      client.release()
      await other.end()
      expect(await take()).toEqual({ token: expect.any(Number) })
    },
  )
})

describe('followers', () => {
  it('get the writes of another store without polling', async () => {
    const schema = server.schema()
    await using reader = postgresStore({ url: server.url, schema, pollMs: 1_000_000 })
    await using writer = postgresStore({ url: server.url, schema })
    await writer.threads.open(ref)
    await writer.runLog.append(ref, 'run-1', 0, ['a'])
    const { signal } = new AbortController()
    const follower = reader.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
    expect((await follower.next()).value).toEqual([{ seq: 1, event: 'a' }])
    for (const n of [1, 2, 3]) {
      const next = follower.next()
      await writer.runLog.append(ref, 'run-1', n, [n])
      expect((await next).value).toEqual([{ seq: n + 1, event: n }])
    }
    const end = follower.next()
    await writer.threads.delete(ref)
    expect((await end).done).toBe(true)
  })

  it('poll while the connection they listened on is lost, and listen again later', async () => {
    const schema = server.schema()
    await using reader = postgresStore({ url: urlAs(schema), schema, pollMs: 20 })
    await using writer = postgresStore({ url: server.url, schema, listen: false })
    await writer.threads.open(ref)
    await writer.runLog.append(ref, 'run-1', 0, ['a'])
    const { signal } = new AbortController()
    const follower = reader.runLog.follow(ref, 'run-1', { after: 1, signal })[Symbol.asyncIterator]()
    const first = follower.next()
    await vi.waitFor(async () => expect(await listeners(schema)).toHaveLength(1))
    const [old] = await listeners(schema)
    await server.ask('select pg_terminate_backend($1)', [old?.pid])
    await vi.waitFor(async () => expect(await listeners(schema)).not.toContainEqual(old))
    await writer.runLog.append(ref, 'run-1', 1, ['b'])
    expect((await first).value).toEqual([{ seq: 2, event: 'b' }])
    const second = follower.next()
    await vi.waitFor(async () => expect(await listeners(schema)).toHaveLength(1), { timeout: 5000 })
    await writer.runLog.append(ref, 'run-1', 2, ['c'], true)
    expect((await second).value).toEqual([{ seq: 3, event: 'c' }])
    expect((await follower.next()).done).toBe(true)
  })

  it('poll where listening succeeds and nothing ever comes, as behind a transaction pooler', async () => {
    const schema = server.schema()
    await server.ask(`create database ${schema}_elsewhere`)
    const elsewhere = urlAs(schema, `${schema}_elsewhere`)
    {
      await using reader = postgresStore({ url: server.url, schema, listen: elsewhere, pollMs: 10 })
      await using writer = postgresStore({ url: server.url, schema, listen: false })
      await writer.threads.open(ref)
      await writer.runLog.append(ref, 'run-1', 0, ['a'])
      const { signal } = new AbortController()
      const follower = reader.runLog.follow(ref, 'run-1', { after: 1, signal })[Symbol.asyncIterator]()
      const first = follower.next()
      await vi.waitFor(async () => expect(await listeners(schema)).toHaveLength(1))
      await writer.runLog.append(ref, 'run-1', 1, ['b'])
      expect((await first).value).toEqual([{ seq: 2, event: 'b' }])
    }
    await server.ask(`drop database ${schema}_elsewhere with (force)`)
  })

  it('need no connection of their own with listen: false', async () => {
    const schema = server.schema()
    await using store = postgresStore({ url: urlAs(schema), schema, listen: false, pollMs: 10 })
    await using writer = postgresStore({ url: server.url, schema, listen: false })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, [])
    const abort = new AbortController()
    const follower = store.runLog.follow(ref, 'run-1', { signal: abort.signal })[Symbol.asyncIterator]()
    const next = follower.next()
    await writer.runLog.append(ref, 'run-1', 0, ['a'])
    expect((await next).value).toEqual([{ seq: 1, event: 'a' }])
    expect(await listeners(schema)).toHaveLength(0)
    const end = follower.next()
    abort.abort()
    expect((await end).done).toBe(true)
  })

  it('stop at once on abort, also while the server does not answer', async () => {
    const pool = server.pool()
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const order: string[] = []
    let silent = false
    const held = watched(pool, async () => {
      if (!silent) return
      order.push('asked')
      asked.resolve()
      await answer.promise
      order.push('answered')
    })
    await using store = postgresStore({ pool: held, schema: server.schema(), listen: false, pollMs: 10 })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, ['a'])
    const abort = new AbortController()
    const follower = store.runLog.follow(ref, 'run-1', { signal: abort.signal })[Symbol.asyncIterator]()
    await follower.next()
    silent = true
    const end = follower.next()
    await asked.promise
    abort.abort()
    expect((await end).done).toBe(true)
    order.push('ended')
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
    silent = false
    answer.resolve()
    await pool.end()
    expect(order).toEqual(['asked', 'ended', 'answered'])
  })

  it('end with their store, whose connections all close', async () => {
    const schema = server.schema()
    const store = postgresStore({ url: urlAs(schema), schema })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, [])
    const { signal } = new AbortController()
    const end = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]().next()
    await vi.waitFor(async () => expect(await listeners(schema)).toHaveLength(1))
    await store[Symbol.asyncDispose]()
    expect((await end).done).toBe(true)
    expect(await store.threads.get(ref).catch(codeOf)).toBe('STORE_CLOSED')
    await vi.waitFor(async () =>
      expect(await server.ask('select 1 from pg_stat_activity where application_name = $1', [schema])).toEqual([]),
    )
  })
})

describe('dispose', () => {
  it('does not wait for a server that a follower tries to listen to in vain', async () => {
    await using silent = await silentServer()
    const store = postgresStore({ url: server.url, schema: server.schema(), listen: silent.url })
    await store.threads.open(ref)
    await store.runLog.append(ref, 'run-1', 0, [])
    const { signal } = new AbortController()
    const end = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]().next()
    await silent.called
    await store[Symbol.asyncDispose]()
    expect((await end).done).toBe(true)
  })
})

describe('a transaction pooler', () => {
  it('may give every transaction another connection, without anything that was set before', async () => {
    const pool = server.pool({ maxUses: 1 })
    await using store = postgresStore({ pool, schema: server.schema(), listen: false })
    await store.threads.open(ref)
    const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 60_000 })
    await store.threads.commit(ref, { messages: [said('m1')] }, token)
    await store.runLog.append(ref, 'run-1', 0, ['a'], true)
    expect(await store.leases.renew(ref, token, 60_000)).toEqual({})
    await store.leases.release(ref, token)
    expect(await store.threads.messages(ref)).toHaveLength(1)
    await pool.end()
  })
})
