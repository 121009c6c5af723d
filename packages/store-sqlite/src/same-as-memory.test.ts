import { KernelError, type RecordCommand, type Store, type ToolCallRecord } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const refs = ['a', 'b'].map((threadId) => ({ app: 'app', user: 'anna', threadId }))
const runId = fc.constantFrom('r1', 'r2', 'r3')
const status = fc.constantFrom<ToolCallRecord['status'][]>(
  'running',
  'awaiting',
  'interrupted',
  'complete',
  'failed',
  'unknown',
)

const command: fc.Arbitrary<RecordCommand> = fc.oneof(
  runId.map((runId) => ({ type: 'run-start', run: { runId, agentName: 'agent', startedAt: 1 } }) as const),
  fc.record({
    type: fc.constant('run-text' as const),
    runId,
    offset: fc.nat({ max: 8 }),
    text: fc.string({ unit: 'binary', maxLength: 4 }),
  }),
  fc.record({
    type: fc.constant('run-finish' as const),
    runId,
    status: fc.constantFrom('complete' as const, 'interrupted' as const),
    endedAt: fc.nat(),
  }),
  fc.record({ callId: fc.constantFrom('c1', 'c2'), runId, status, attempts: fc.integer({ min: 1, max: 3 }) }).map(
    (call) =>
      ({
        type: 'tool-call',
        call: { ...call, messageId: 'm', name: 'tool', arguments: '{}', startedAt: 1 },
      }) as const,
  ),
  fc.record({
    type: fc.constant('usage' as const),
    runId,
    spanId: fc.constantFrom('s1', 's2', 's3'),
    model: fc.constant('model'),
    usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() }),
  }),
)

it('keeps the same records as the memory store, whatever is applied in whatever batches', async () => {
  const batches = fc.array(fc.tuple(fc.constantFrom(...refs), fc.array(command, { maxLength: 12 })), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      await using sqlite = sqliteStore({ path: ':memory:' })
      const stores: Store[] = [memoryStore(), sqlite]
      const results = await Promise.all(
        stores.map(async (store) => {
          for (const ref of refs) await store.threads.open(ref)
          const results: unknown[] = []
          for (const [ref, commands] of all) results.push(await store.records.apply(ref, commands))
          for (const ref of refs) {
            results.push(await store.records.runs(ref), await store.records.usage(ref))
            for (const id of ['r1', 'r2', 'r3']) {
              results.push(await store.records.toolCalls(ref, id), await store.records.modelCalls(ref, id))
            }
          }
          return results
        }),
      )
      expect(results[1]).toEqual(results[0])
    }),
    { numRuns: 100 },
  )
})

const ref = fc.constantFrom(...refs)
const entries = fc.array(
  fc.json().map((text) => JSON.parse(text)),
  { maxLength: 3 },
)
/** The place of a token among those of its thread, the last first; mostly the right one. */
const token = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 2 }))
/** Mostly the run that began a journal. */
const run = fc.oneof({ weight: 3, arbitrary: fc.constant('r1') }, runId)
const call = <Name extends string>(name: Name) => fc.constant(name)
const step = fc.oneof(
  fc.record({ call: call('open'), ref }),
  fc.record({ call: call('delete'), ref }),
  { weight: 4, arbitrary: fc.record({ call: call('acquire'), ref, runId }) },
  fc.record({ call: call('release'), ref, token }),
  { weight: 4, arbitrary: fc.record({ call: call('begin'), ref, token, runId: run, entries }) },
  fc.record({ call: call('end'), ref, token }),
  fc.record({ call: call('commit'), ref, token }),
  { weight: 8, arbitrary: fc.record({ call: call('append'), ref, token, runId: run, entries }) },
  { weight: 2, arbitrary: fc.record({ call: call('read'), ref }) },
  {
    weight: 2,
    arbitrary: fc.record({ call: call('lost'), before: fc.nat({ max: 90 }), limit: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ call: call('wait'), ms: fc.nat({ max: 9 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** The tokens that were given, by thread. */
type Tokens = { readonly [threadId: string]: number[] }

/** Makes a call of a store; a token itself is not part of the result, because stores count them as they like. */
async function perform({ threads, leases, journal }: Store, clock: FakeClock, tokens: Tokens, step: Step) {
  const given = tokens['ref' in step ? step.ref.threadId : ''] ?? []
  const token = 'token' in step ? (given.at(-1 - step.token) ?? 0) : 0
  switch (step.call) {
    case 'open':
      return threads.open(step.ref)
    case 'delete':
      return threads.delete(step.ref)
    case 'acquire':
      given.push((await leases.acquire(step.ref, { runId: step.runId, ttlMs: 10 })).token)
      return threads.get(step.ref)
    case 'release':
      return leases.release(step.ref, token)
    case 'begin':
      return threads.commit(step.ref, { journal: { runId: step.runId, entries: step.entries } }, token)
    case 'end':
      return threads.commit(step.ref, { journal: null }, token)
    case 'commit':
      return threads.commit(step.ref, {}, token)
    case 'append':
      return journal.append(step.ref, step.runId, step.entries, token)
    case 'read':
      return journal.read(step.ref)
    case 'lost':
      return journal.lost(step)
    case 'wait':
      return clock.advance(step.ms)
  }
}

it('keeps the same journals as the memory store, whatever is called in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
      const clocks = [fakeClock(0), fakeClock(0)] as const
      await using sqlite = sqliteStore({ path: ':memory:', clock: clocks[1] })
      const results: unknown[][] = []
      for (const [i, store] of [memoryStore({ clock: clocks[0] }), sqlite].entries()) {
        const tokens: Tokens = { a: [], b: [] }
        const seen: unknown[] = []
        for (const ref of refs) await store.threads.open(ref)
        for (const step of steps) {
          const outcome = perform(store, clocks[i] as FakeClock, tokens, step)
          seen.push(await outcome.catch((error: unknown) => KernelError.from(error).code))
        }
        for (const ref of refs) seen.push(await store.journal.read(ref), await store.threads.get(ref))
        results.push(seen)
      }
      expect(results[1]).toEqual(results[0])
    }),
    { numRuns: 300 },
  )
})
