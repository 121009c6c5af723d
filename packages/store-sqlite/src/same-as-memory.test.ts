import type { RecordCommand, Store, ToolCallRecord } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
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
  fc.record({ callId: fc.constantFrom('c1', 'c2'), runId, status }).map(
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
