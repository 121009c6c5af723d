import type { ToolCallRecord } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, call, finish, refusals, start, statuses, withRun } from './store-samples.ts'

type Status = ToolCallRecord['status']
const OPEN: readonly Status[] = ['running', 'awaiting', 'interrupted']
const SETTLED: readonly Status[] = ['complete', 'failed', 'unknown']

/** Tool calls as rows. */
export const toolCallClauses: StoreClauses = {
  ...advised('Keep one row per thread and callId, in the order of the first write, with every field as it was given.', {
    'a call comes back as it was written': async ({ store, ref }) => {
      await withRun(store, ref)
      const row = {
        callId: 'call-1',
        runId: 'run-1',
        messageId: 'message-1',
        name: 'weather',
        arguments: `{"city":"${AWKWARD}`,
        status: 'complete',
        result: { text: AWKWARD, list: [null, 1.5] },
        attempts: 3,
        startedAt: 1,
        endedAt: 2,
      } as const
      await store.records.apply(ref, [{ type: 'tool-call', call: row }])
      expect(await store.records.toolCalls(ref, 'run-1')).toEqual([row])
    },
    'the calls of a run come in the order of their first write': async ({ store, ref }) => {
      await withRun(store, ref)
      await store.records.apply(ref, [start('run-2'), call('z', 'running'), call('a', 'running'), call('m', 'running')])
      await store.records.apply(ref, [
        call('other', 'running', { runId: 'run-2' }),
        call('z', 'complete', { startedAt: 9 }),
      ])
      expect((await store.records.toolCalls(ref, 'run-1')).map(({ callId }) => callId)).toEqual(['z', 'a', 'm'])
      expect((await store.records.toolCalls(ref, 'run-2')).map(({ callId }) => callId)).toEqual(['other'])
    },
    'a call written again is the same row': async ({ store, ref }) => {
      await withRun(store, ref)
      await store.records.apply(ref, [
        call('c', 'running'),
        call('c', 'complete', { result: 'sunny', attempts: 2, endedAt: 5 }),
      ])
      expect(await store.records.toolCalls(ref, 'run-1')).toEqual([
        expect.objectContaining({ callId: 'c', status: 'complete', result: 'sunny', attempts: 2, endedAt: 5 }),
      ])
    },
    'the same call id in two threads is two calls': async ({ store, ref }) => {
      await withRun(store, ref)
      await withRun(store, anna('t2'), 'run-2')
      await store.records.apply(ref, [call('c', 'running')])
      await store.records.apply(anna('t2'), [call('c', 'complete', { runId: 'run-2' })])
      expect(await statuses(store, ref)).toEqual({ c: 'running' })
      expect(await statuses(store, anna('t2'), 'run-2')).toEqual({ c: 'complete' })
    },
  }),
  ...advised(
    'Compare with the status that is stored: an open call takes any status, a settled one is never taken back.',
    {
      'a call that is open may take any status': async ({ store, ref }) => {
        await withRun(store, ref)
        for (const before of OPEN) {
          for (const after of [...OPEN, ...SETTLED]) {
            const id = `${before}-${after}`
            expect(await refusals(store, ref, [call(id, before), call(id, after)]), id).toEqual([false, false])
            expect((await statuses(store, ref))[id]).toBe(after)
          }
        }
      },
      'a settled call is never taken back': async ({ store, ref }) => {
        await withRun(store, ref)
        for (const before of SETTLED) {
          for (const after of OPEN) {
            const id = `${before}-${after}`
            expect(await refusals(store, ref, [call(id, before), call(id, after)]), id).toEqual([false, true])
            expect((await statuses(store, ref))[id]).toBe(before)
          }
        }
      },
      'the same settled write again is not refused while the run goes on': async ({ store, ref }) => {
        await withRun(store, ref)
        expect(await refusals(store, ref, [call('c', 'complete'), call('c', 'complete')])).toEqual([false, false])
        expect(await store.records.toolCalls(ref, 'run-1')).toHaveLength(1)
      },
    },
  ),
  ...advised(
    'Look at the status of the run in the same transaction: a finished run takes no new call, only answers to parked calls, and running becomes unknown.',
    {
      'a finished run takes no new call': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [finish('run-1')])
        expect(await refusals(store, ref, [call('c', 'running'), call('d', 'unknown')])).toEqual([true, true])
        expect(await store.records.toolCalls(ref, 'run-1')).toEqual([])
      },
      'an awaiting or interrupted call of a finished run may still be answered': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [
          call('a', 'awaiting'),
          call('i', 'interrupted'),
          finish('run-1', 'interrupted'),
        ])
        expect(await refusals(store, ref, [call('i', 'running'), call('i', 'awaiting')])).toEqual([true, true])
        expect(await refusals(store, ref, [call('a', 'complete'), call('i', 'failed')])).toEqual([false, false])
        expect(await statuses(store, ref)).toEqual({ a: 'complete', i: 'failed' })
      },
      'a parked call is taken up by a run that goes on, not by one that has ended': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [call('c', 'interrupted'), finish('run-1', 'interrupted'), start('stale')])
        await store.records.apply(ref, [finish('stale', 'failed'), start('next')])
        for (const status of [...OPEN, ...SETTLED]) {
          expect(await refusals(store, ref, [call('c', status, { runId: 'stale' })]), status).toEqual([true])
        }
        expect(await statuses(store, ref)).toEqual({ c: 'interrupted' })
        expect(await refusals(store, ref, [call('c', 'running', { runId: 'next' })])).toEqual([false])
        expect(await statuses(store, ref, 'next')).toEqual({ c: 'running' })
      },
      'a running call of a finished run can only become unknown': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [call('c', 'running'), finish('run-1', 'failed')])
        for (const status of ['running', 'awaiting', 'interrupted', 'complete', 'failed'] as const) {
          expect(await refusals(store, ref, [call('c', status)]), status).toEqual([true])
        }
        expect(await refusals(store, ref, [call('c', 'unknown')])).toEqual([false])
        expect(await statuses(store, ref)).toEqual({ c: 'unknown' })
      },
      'a settled call of a finished run stays as it is': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [call('c', 'complete', { result: 1 }), finish('run-1')])
        expect(await refusals(store, ref, [call('c', 'failed'), call('c', 'unknown')])).toEqual([true, true])
        expect(await statuses(store, ref)).toEqual({ c: 'complete' })
      },
    },
  ),
}
