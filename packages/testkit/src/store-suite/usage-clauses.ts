import type { ModelCallRecord } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, refusals, start, used, withRun } from './store-samples.ts'

/** What a thread has cost. */
export const usageClauses: StoreClauses = {
  ...advised(
    'Keep one row per span (the first one wins) and sum the rows; leave reasoning, cached and cache-write tokens and the cost out of the sum if no row has them.',
    {
      'usage is the sum of spans, each counted once': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [start('run-2'), used('s1'), used('s2', { inputTokens: 5 }, 'run-2')])
        expect(await refusals(store, ref, [used('s1', { inputTokens: 1000 })])).toEqual([false])
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 15, outputTokens: 2 })
      },
      'reasoning and cached tokens are in the sum only if a span has them': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [
          used('s1'),
          used('s2', { reasoningTokens: 3 }),
          used('s3', { reasoningTokens: 4 }),
        ])
        const sum = await store.records.usage(ref)
        expect(sum).toEqual({ inputTokens: 30, outputTokens: 3, reasoningTokens: 7 })
        expect(Object.keys(sum)).not.toContain('cachedInputTokens')
        await store.records.apply(ref, [used('s4', { cachedInputTokens: 0 })])
        expect((await store.records.usage(ref)).cachedInputTokens).toBe(0)
        await store.records.apply(ref, [used('s5', { cacheWriteTokens: 2 }), used('s6', { cacheWriteTokens: 3 })])
        expect((await store.records.usage(ref)).cacheWriteTokens).toBe(5)
      },
      'the cost is in the sum only if a span has one': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [used('s1')])
        expect(await store.records.usage(ref)).not.toHaveProperty('cost')
        await store.records.apply(ref, [used('s2', { cost: 0.25 }), used('s3', { cost: 0.5 }), used('s4', { cost: 0 })])
        expect((await store.records.usage(ref)).cost).toBe(0.75)
        const usage = { inputTokens: 10, outputTokens: 1, cost: 0.75 }
        await store.records.apply(ref, [{ type: 'run-finish', runId: 'run-1', status: 'complete', usage, endedAt: 2 }])
        expect((await store.records.runs(ref))[0]?.usage).toEqual(usage)
      },
      'a model call is kept with its model, tokens, finish reason and messages, the first time it is recorded': async ({
        store,
        ref,
      }) => {
        await withRun(store, ref)
        const tokens = {
          inputTokens: 10,
          outputTokens: 1,
          reasoningTokens: 3,
          cachedInputTokens: 0,
          cacheWriteTokens: 2,
          cost: 0.000_35,
        }
        const whole = { spanId: 's1', runId: 'run-1', model: 'gpt\0', usage: tokens, finishReason: 'stop' } as const
        const call = { ...whole, messageId: 'm1', requestId: 'u1' }
        await store.records.apply(ref, [{ type: 'usage', ...call }, used('s2')])
        await store.records.apply(ref, [{ type: 'usage', ...call, model: 'another', requestId: 'u2' }])
        const { type, ...bare } = used('s2') as { type: 'usage' } & ModelCallRecord
        expect(await store.records.modelCalls(ref, 'run-1')).toEqual([call, bare])
      },
      'model calls of a run come in the order of their writes, without those of other runs': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [start('run-2'), used('z'), used('b', {}, 'run-2'), used('m')])
        await store.records.apply(ref, [used('z'), used('a')])
        const spans = async (runId: string) => (await store.records.modelCalls(ref, runId)).map(({ spanId }) => spanId)
        expect([await spans('run-1'), await spans('run-2'), await spans('run-3')]).toEqual([['z', 'm', 'a'], ['b'], []])
      },
      'the usage of a finish is not counted on top of the spans': async ({ store, ref }) => {
        await withRun(store, ref)
        const usage = { inputTokens: 10, outputTokens: 1 }
        await store.records.apply(ref, [
          used('s1'),
          { type: 'run-finish', runId: 'run-1', status: 'complete', usage, endedAt: 2 },
        ])
        expect(await store.records.usage(ref)).toEqual(usage)
      },
      'the same span id in two threads is counted in both': async ({ store, ref }) => {
        await withRun(store, ref)
        await withRun(store, anna('t2'), 'run-2')
        await store.records.apply(ref, [used('s1')])
        await store.records.apply(anna('t2'), [used('s1', {}, 'run-2')])
        expect(await store.records.usage(anna('t2'))).toEqual({ inputTokens: 10, outputTokens: 1 })
      },
    },
  ),
}
