import { type FlowRunner, runner } from '@troupe/flow'
import type { Store, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres, type TestServer } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import {
  expectedLines,
  heldFurther,
  type Line,
  linesOf,
  type Program,
  programAgent,
} from './held-conversation.fixture.ts'

const refOf = (threadId: string): ThreadRef => ({ app: 'test', user: 'ann', threadId })

const call = fc.record({
  tool: fc.constantFrom('put' as const, 'put' as const, 'drop' as const, 'look' as const),
  key: fc.constantFrom('a', 'b', 'c'),
  value: fc.nat({ max: 99 }),
})
const program: fc.Arbitrary<Program> = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { maxLength: 3 })
/** A thread and a message of it, by their places among those there are. */
const thread = fc.nat({ max: 30 })
const message = fc.nat({ max: 60 })
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('say' as const), thread, program }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), thread }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('fork' as const), thread, message, at: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), thread }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Conversations by the ids of their threads, as they must be. */
type Held = Map<string, readonly Line[]>

async function perform(desk: FlowRunner, store: Store, held: Held, step: Step): Promise<void> {
  const [id, lines] = [...held][step.thread % held.size] as [string, readonly Line[]]
  const ref = refOf(id)
  if (step.do === 'say') {
    await desk.query(JSON.stringify(step.program), { session: ref })
    held.set(id, heldFurther(lines, step.program))
  } else if (step.do === 'again' && lines.some(({ role }) => role === 'user')) {
    await desk.run({ messages: [] }, { session: ref })
    held.set(id, heldFurther(lines))
  } else if (step.do === 'fork' && lines.length > 0) {
    const place = step.message % lines.length
    const { message } = (await store.threads.messages(ref, { after: place, limit: 1 }))[0] ?? {}
    const branch = await desk.fork(ref, step.at ? { at: message?.id ?? '' } : { before: message?.id ?? '' })
    held.set(branch.threadId, lines.slice(0, step.at ? place + 1 : place))
  } else if (step.do === 'delete' && held.size > 1) {
    await store.threads.delete(ref)
    held.delete(id)
  }
}

async function expectBranches(open: () => Promise<Store>, numRuns: number): Promise<void> {
  const steps = fc.array(step, { minLength: 4, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom('step' as const, 'turn' as const), async (steps, durability) => {
      await using store = await open()
      const desk = runner({ agent: programAgent(), store, durability })
      const held: Held = new Map([['first', []]])
      await store.threads.open(refOf('first'))
      for (const step of steps) await perform(desk, store, held, step)
      for (const [id, lines] of held) {
        expect(await linesOf(store, refOf(id))).toEqual(expectedLines(lines))
        expect((await store.threads.get(refOf(id)))?.state).toEqual(lines.at(-1)?.state ?? {})
      }
    }),
    { numRuns },
  )
}

describe('conversations that branch anywhere and go on are those that were held that way from the start', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  it('in memory', () => expectBranches(async () => memoryStore(), 400), 60_000)

  it('in SQLite', () => expectBranches(async () => sqliteStore({ path: ':memory:' }), 150), 60_000)

  it('in PostgreSQL', () => {
    const schema = server.schema()
    return expectBranches(async () => {
      const store = postgresStore({ url: server.url, schema })
      await store.ready()
      for (const table of ['threads', 'leases', 'run_ids', 'owners'])
        await server.ask(`delete from ${schema}.troupe_${table}`)
      return store
    }, 15)
  }, 120_000)
})
