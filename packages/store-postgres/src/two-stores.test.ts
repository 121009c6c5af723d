import { KernelError } from '@troupe/kernel'
import { MIGRATIONS } from '@troupe/store-sql'
import { fakeClock } from '@troupe/testkit'
import { types } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
const begin = (runId: string) => ({ type: 'run-start', run: { runId, agentName: 'agent', startedAt: 1 } }) as const
const codeOf = (error: unknown) => KernelError.from(error).code

describe('two stores on one schema', () => {
  it('give 64 writers of 200 runs each one gapless sequence', async () => {
    const schema = server.schema()
    await using a = postgresStore({ url: server.url, schema })
    await using b = postgresStore({ url: server.url, schema })
    await a.threads.open(ref)
    const seqs = await Promise.all(
      upTo(64).map(async (writer) => {
        const { records } = writer % 2 ? a : b
        const seqs: number[] = []
        for (const n of upTo(8)) {
          const results = await records.apply(
            ref,
            upTo(25).map((i) => begin(`${writer}/${n}/${i}`)),
          )
          seqs.push(...results.map(({ seq }) => seq ?? 0))
        }
        return seqs
      }),
    )
    expect(seqs.flat().sort((x, y) => x - y)).toEqual(upTo(64 * 200))
  }, 30_000)

  it('make the tables once when they start together, and not again', async () => {
    const schema = server.schema()
    const stores = upTo(6).map(() => postgresStore({ url: server.url, schema, maxConnections: 2 }))
    await Promise.all(stores.map((store) => store.ready()))
    expect(await server.ask(`select version from ${schema}.troupe_schema`)).toEqual([{ version: MIGRATIONS.length }])
    expect((await stores[0]?.threads.open(ref))?.seq).toBe(1)
    expect((await stores[5]?.threads.open(ref))?.seq).toBe(1)
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()))
  })

  it('fence a writer whose lease the other took over', async () => {
    const [schema, clock] = [server.schema(), fakeClock()]
    await using a = postgresStore({ url: server.url, schema, clock })
    await using b = postgresStore({ url: server.url, schema, clock })
    await a.threads.open(ref)
    const { token: stale } = await a.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
    await a.records.apply(ref, [begin('run-1')])
    clock.advance(1000)
    const { token } = await b.leases.acquire(ref, { runId: 'run-2', ttlMs: 1000 })
    await b.threads.commit(ref, { messages: [said('m1')] }, token)
    expect(await a.threads.commit(ref, { messages: [said('late')] }, stale).catch(codeOf)).toBe('LEASE_LOST')
    expect(await a.leases.renew(ref, stale, 1000).catch(codeOf)).toBe('LEASE_LOST')
    expect(await a.records.apply(ref, [{ type: 'run-text', runId: 'run-1', offset: 0, text: 'late' }])).toEqual([
      { runId: 'run-1', refused: true },
    ])
    expect((await a.threads.messages(ref)).map(({ message }) => message.id)).toEqual(['m1'])
    expect((await a.records.runs(ref))[0]).toMatchObject({ status: 'failed', error: { code: 'LEASE_LOST' } })
  })

  it('let no commit through after a take-over, however both race', async () => {
    const [schema, clock] = [server.schema(), fakeClock()]
    await using a = postgresStore({ url: server.url, schema, clock })
    await using b = postgresStore({ url: server.url, schema, clock })
    await a.threads.open(ref)
    let { token } = await a.leases.acquire(ref, { runId: 'run-0', ttlMs: 10 })
    const takeOver = async (round: number) => {
      const taken = await b.leases.acquire(ref, { runId: `run-${round}`, ttlMs: 10 })
      return { taken, version: (await b.threads.get(ref))?.version }
    }
    for (const round of upTo(40)) {
      clock.advance(10)
      const [{ taken, version }] = await Promise.all([
        takeOver(round),
        ...upTo(6).map((n) => a.threads.commit(ref, { set: { [`k${n}`]: round } }, token).catch(codeOf)),
      ])
      expect((await a.threads.get(ref))?.version).toBe(version)
      token = taken.token
    }
  })

  it('let no append to a journal through after a take-over, whatever the default isolation level', async () => {
    const [schema, clock] = [server.schema(), fakeClock()]
    for (const level of ['read committed', 'repeatable read', 'serializable']) {
      const url = new URL(server.url)
      url.searchParams.set('options', `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`)
      await using a = postgresStore({ url: url.href, schema, clock, listen: false })
      await using b = postgresStore({ url: server.url, schema, clock, listen: false })
      await a.threads.open(ref)
      let { token } = await a.leases.acquire(ref, { runId: 'run-1', ttlMs: 10 })
      const takeOver = async () => {
        const taken = await b.leases.acquire(ref, { runId: 'run-1', ttlMs: 10 })
        return { taken, seen: (await b.journal.read(ref))?.entries }
      }
      for (const round of upTo(20)) {
        await a.threads.commit(ref, { journal: { runId: 'run-1', entries: [] } }, token)
        clock.advance(10)
        const [{ taken, seen }, ...codes] = await Promise.all([
          takeOver(),
          ...upTo(6).map((n) => a.journal.append(ref, 'run-1', [n], token).then(() => n, codeOf)),
        ])
        const written = codes.filter((code) => code !== 'LEASE_LOST')
        expect(written.every(Number.isInteger), `${level}, round ${round}: ${codes}`).toBe(true)
        expect(new Set(seen)).toEqual(new Set(written))
        expect((await a.journal.read(ref))?.entries).toEqual(seen)
        token = taken.token
      }
      await a.leases.release(ref, token)
    }
  })

  it('do not let late writes undo a deletion, however both race', async () => {
    const schema = server.schema()
    await using a = postgresStore({ url: server.url, schema })
    await using b = postgresStore({ url: server.url, schema })
    for (const round of upTo(20)) {
      await a.threads.open(ref)
      const { token } = await a.leases.acquire(ref, { runId: `run-${round}`, ttlMs: 60_000 })
      await a.runLog.append(ref, 'run-1', 0, [1])
      await a.threads.commit(ref, { journal: { runId: 'run-1', entries: ['a'] } }, token)
      const [deleted] = await Promise.all([
        b.threads.delete(ref),
        a.threads.commit(ref, { messages: [said('m1')] }, token).catch(codeOf),
        a.records.apply(ref, [begin('run-1')]),
        a.runLog.append(ref, 'run-1', 1, [2]).catch(codeOf),
        a.journal.append(ref, 'run-1', ['b'], token).catch(codeOf),
        a.leases.renew(ref, token, 60_000).catch(codeOf),
      ])
      expect(deleted).toBe(true)
      expect(await a.threads.get(ref)).toBeUndefined()
      await b.threads.open(ref)
      expect(await a.threads.commit(ref, { messages: [said('late')] }, token).catch(codeOf)).toBe('LEASE_LOST')
      expect(await b.threads.messages(ref)).toEqual([])
      expect(await b.records.runs(ref)).toEqual([])
      await b.threads.delete(ref)
    }
    for (const table of ['messages', 'runs', 'run_logs', 'journal', 'run_events', 'leases', 'threads']) {
      expect(await server.ask(`select count(*)::int as n from ${schema}.troupe_${table}`)).toEqual([{ n: 0 }])
    }
  })
})

describe('postgresStore', () => {
  it('refuses a schema that is newer than the code, and changes nothing', async () => {
    const schema = server.schema()
    {
      await using store = postgresStore({ url: server.url, schema })
      await store.ready()
    }
    await server.ask(`update ${schema}.troupe_schema set version = 99`)
    await using store = postgresStore({ url: server.url, schema })
    const error = await store.threads.open(ref).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'STORE_NEWER', details: { version: 99, known: MIGRATIONS.length } })
    expect(await server.ask(`select version from ${schema}.troupe_schema`)).toEqual([{ version: 99 }])
  })

  it('needs no right to make tables once they are made', async () => {
    const schema = server.schema()
    {
      await using store = postgresStore({ url: server.url, schema })
      await store.ready()
    }
    const role = `${schema}_reader`
    await server.ask(`create role ${role} login`)
    await server.ask(`grant usage on schema ${schema} to ${role}`)
    await server.ask(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
    const limited = new URL(server.url)
    limited.username = role
    limited.password = ''
    {
      await using store = postgresStore({ url: limited.href, schema })
      expect((await store.threads.open(ref)).seq).toBe(1)
    }
    await server.ask(`drop owned by ${role}`)
    await server.ask(`drop role ${role}`)
  })

  it('leaves a pool of the app open, and reads columns by its own rules', async () => {
    const before = types.getTypeParser(20)
    types.setTypeParser(20, (text) => `app's ${text}`)
    const pool = server.pool({ max: 2 })
    {
      await using store = postgresStore({ pool, schema: server.schema() })
      expect((await store.threads.open(ref)).seq).toBe(1)
    }
    expect((await pool.query('select 1::int8 as n')).rows).toEqual([{ n: "app's 1" }])
    types.setTypeParser(20, before)
    expect(pool.listenerCount('error')).toBe(1)
    await pool.end()
  })

  it('keeps a name that needs quoting apart, and text that PostgreSQL cannot hold', async () => {
    const schema = `${server.schema()}"Ünicode`
    await using store = postgresStore({ url: server.url, schema })
    const odd = { app: 'a\0', user: '\ud800', threadId: '💥'.repeat(250) }
    const { token } = await store.leases.acquire(odd, { runId: '\0', ttlMs: 1000 })
    await store.threads.open(odd)
    const message = { id: '\udfff', role: 'user', content: '\0'.repeat(1_000_000) } as const
    await store.threads.commit(odd, { messages: [{ runId: '\0', message }] }, token)
    expect(await store.threads.messages(odd)).toEqual([{ seq: 1, runId: '\0', message }])
    expect((await store.threads.get(odd))?.ref).toEqual(odd)
    await server.ask(`drop schema "${schema.replaceAll('"', '""')}" cascade`)
  })

  it('is refused at construction without a server, or with two', () => {
    const pool = server.pool()
    for (const options of [
      {},
      { url: '' },
      { url: server.url, pool },
      { url: 'x', pollMs: 0 },
      { url: 'x', schema: '' },
    ]) {
      expect(() => postgresStore(options)).toThrow('postgresStore: ')
    }
  })
})
