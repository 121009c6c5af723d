import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import {
  anna,
  begin,
  call,
  codeOf,
  collect,
  entriesOf,
  finish,
  hold,
  logged,
  said,
  start,
  TTL,
} from './store-samples.ts'

const usage = { inputTokens: 1, outputTokens: 1 }

/** Forgetting a conversation. */
export const deleteClauses: StoreClauses = {
  ...advised('Delete the thread with all that hangs on it in one transaction, and tell whether there was one.', {
    'deleting what is not there is false': async ({ store, ref }) => {
      expect(await store.threads.delete(ref)).toBe(false)
      await store.threads.open(ref)
      expect(await store.threads.delete(ref)).toBe(true)
      expect(await store.threads.delete(ref)).toBe(false)
    },
    'of several deletes at once one is true': async ({ store, ref }) => {
      await store.threads.open(ref)
      const deleted = await Promise.all([1, 2, 3].map(() => store.threads.delete(ref)))
      expect(deleted.filter(Boolean)).toHaveLength(1)
    },
    'a deleted thread takes everything with it, also when it is opened again': async ({ store, ref }) => {
      const token = await hold(store, ref)
      const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: null }
      await store.threads.commit(ref, { set: { a: 1 }, messages: [said('m1')], processed: ['p'], checkpoint }, token)
      await store.records.apply(ref, [
        start('run-1'),
        call('call-1', 'running'),
        { type: 'usage', runId: 'run-1', spanId: 's', model: 'm', usage },
      ])
      await store.runLog.append(ref, 'run-1', 0, [1, 2])
      await begin(store, ref, token, ['a'])
      await store.threads.delete(ref)
      const nothing = async () => {
        expect(await store.threads.messages(ref)).toEqual([])
        expect(await store.threads.processed(ref, ['p'])).toEqual([])
        expect(await store.records.runs(ref)).toEqual([])
        expect(await store.records.toolCalls(ref, 'run-1')).toEqual([])
        expect(await store.records.modelCalls(ref, 'run-1')).toEqual([])
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 0, outputTokens: 0 })
        expect(await store.records.open({ before: 1000, limit: 10 })).toEqual([])
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
        expect(await store.journal.read(ref)).toBeUndefined()
        expect(await store.journal.lost({ before: 1e15, limit: 10 })).toEqual([])
      }
      expect(await store.threads.get(ref)).toBeUndefined()
      expect(await store.threads.list(ref)).toEqual([])
      await nothing()
      const again = await store.threads.open(ref)
      expect(again).toMatchObject({ version: 0, openCalls: [] })
      expect(again.state).toEqual({})
      expect([again.checkpoint, again.runId, again.unfinished]).toEqual([undefined, undefined, undefined])
      await nothing()
    },
    'a deleted thread leaves the others alone': async ({ store, ref }) => {
      const token = await hold(store, anna('t2'), 'run-2')
      await store.threads.commit(anna('t2'), { messages: [said('m1')] }, token)
      await store.records.apply(anna('t2'), [start('run-2')])
      await store.runLog.append(anna('t2'), 'run-2', 0, [1])
      await begin(store, anna('t2'), token, ['a'], 'run-2')
      await store.threads.open(ref)
      await store.threads.delete(ref)
      expect((await store.threads.commit(anna('t2'), {}, token)).version).toBe(3)
      expect(await store.threads.messages(anna('t2'))).toHaveLength(1)
      expect(await store.records.runs(anna('t2'))).toHaveLength(1)
      expect(await logged(store, anna('t2'), 'run-2')).toEqual([1])
      expect(await entriesOf(store, anna('t2'))).toEqual(['a'])
    },
  }),
  ...advised(
    'Let whatever comes after a delete find nothing: commit, renew and an append to a journal are LEASE_LOST, records are refused, an append to a log is NOT_FOUND, followers end.',
    {
      'a late commit is LEASE_LOST, also when the thread was opened and leased again': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.delete(ref)
        expect(await codeOf(store.threads.commit(ref, { set: { a: 1 } }, token))).toBe('LEASE_LOST')
        expect(await store.threads.get(ref)).toBeUndefined()
        await hold(store, ref, 'run-2')
        expect(await codeOf(store.threads.commit(ref, { set: { a: 1 } }, token))).toBe('LEASE_LOST')
        expect((await store.threads.get(ref))?.version).toBe(0)
      },
      'a late renew is LEASE_LOST, a late release frees nobody': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.delete(ref)
        expect(await codeOf(store.leases.renew(ref, token, TTL))).toBe('LEASE_LOST')
        await hold(store, ref, 'run-2')
        await store.leases.release(ref, token)
        expect((await store.threads.get(ref))?.runId).toBe('run-2')
      },
      'a deleted thread is free at once': async ({ store, ref }) => {
        await hold(store, ref)
        await store.threads.delete(ref)
        expect(await store.leases.requestCancel(ref, {})).toBe(false)
        expect(await hold(store, ref, 'run-2')).toEqual(expect.any(Number))
      },
      'late records are all refused and make nothing': async ({ store, ref }) => {
        await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        await store.threads.delete(ref)
        const results = await store.records.apply(ref, [start('run-1'), start('run-2'), finish('run-1')])
        expect(results).toEqual([
          { runId: 'run-1', refused: true },
          { runId: 'run-2', refused: true },
          { runId: 'run-1', refused: true },
        ])
        expect(await store.threads.get(ref)).toBeUndefined()
        await store.threads.open(ref)
        expect(await store.records.runs(ref)).toEqual([])
      },
      'a late append is NOT_FOUND and makes nothing': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1])
        await store.threads.delete(ref)
        expect(await codeOf(store.runLog.append(ref, 'run-1', 1, [2]))).toBe('NOT_FOUND')
        await store.threads.open(ref)
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
      },
      'a late append to the journal is LEASE_LOST and makes nothing, also when the thread was opened and leased again':
        async ({ store, ref }) => {
          const token = await hold(store, ref)
          await begin(store, ref, token, ['a'])
          await store.threads.delete(ref)
          expect(await codeOf(store.journal.append(ref, 'run-1', ['late'], token))).toBe('LEASE_LOST')
          expect(await store.threads.get(ref)).toBeUndefined()
          const next = await hold(store, ref)
          expect(await codeOf(store.journal.append(ref, 'run-1', ['late'], token))).toBe('LEASE_LOST')
          expect(await codeOf(store.journal.append(ref, 'run-1', ['late'], next))).toBe('NOT_FOUND')
          expect(await store.journal.read(ref)).toBeUndefined()
        },
      'live followers of a deleted thread end': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1])
        const { signal } = new AbortController()
        const first = collect(store.runLog.follow(ref, 'run-1', { signal }))
        const parked = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
        await parked.next()
        const end = parked.next()
        await store.threads.delete(ref)
        expect((await end).done).toBe(true)
        await first
      },
    },
  ),
  ...advised(
    'Free the ids of a deleted thread, and do not give its seq to another: the next thread comes after all before it.',
    {
      'the run ids of a deleted thread are free again': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.records.apply(ref, [start('run-1')])
        await store.threads.delete(ref)
        await store.threads.open(anna('t2'))
        expect(await store.records.apply(anna('t2'), [start('run-1')])).toEqual([{ runId: 'run-1', seq: 1 }])
      },
      'a thread opened after a delete is found behind every cursor': async ({ store, ref }) => {
        for (const id of ['a', 'b']) await store.threads.open(anna(id))
        await store.threads.delete(anna('b'))
        await store.threads.open(anna('c'))
        const after = (await store.threads.list(ref, { after: 2 })).map(({ ref }) => ref.threadId)
        expect(after).toEqual(['c'])
      },
    },
  ),
}
