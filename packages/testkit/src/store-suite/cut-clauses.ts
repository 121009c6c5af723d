import type { Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { commitTo, forkAt, idsOf, say, stateOf } from './fork-samples.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, begin, codeOf, hold, logged, said, start, upTo } from './store-samples.ts'

const openCalls = [{ callId: 'c', name: 'weather', agentName: 'agent' }]

/** Cuts a thread at a message, under a lease of its own, which is released. */
async function cutAt(store: Store, ref: ThreadRef, at: string, to = 'old'): Promise<void> {
  const token = await hold(store, ref, 'cutter')
  await store.threads.cut(ref, { at, to }, token)
  await store.leases.release(ref, token)
}

/** Threads that are cut: what stays with the name, and what has another one. */
export const cutClauses: StoreClauses = {
  ...advised(
    'Let a cut thread keep its name, its lease and the messages, state and processed ids up to the cut, and move everything that it was to the other name, in one transaction.',
    {
      'a cut thread has the messages up to the cut, and all of them under the other name': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2', 'm3')
        const before = await store.threads.messages(ref)
        await cutAt(store, ref, 'm2')
        expect(await store.threads.messages(ref)).toEqual(before.slice(0, 2))
        expect(await store.threads.messages(anna('old'))).toEqual(before)
        await say(store, ref, 'b3')
        await say(store, anna('old'), 'm4')
        expect(await idsOf(store, ref)).toEqual(['m1', 'm2', 'b3'])
        expect(await idsOf(store, anna('old'))).toEqual(['m1', 'm2', 'm3', 'm4'])
      },
      'a thread that is cut before its first message is empty': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        await say(store, anna('other'), 'o1')
        const token = await hold(store, ref)
        const thread = await store.threads.cut(ref, { before: 'm1', to: 'old' }, token)
        expect(thread.forkedFrom).toEqual({ threadId: 'old' })
        expect((await store.threads.list(ref)).map((one) => one.ref.threadId)).toEqual(['old', 'other', 'thread-1'])
        expect(await idsOf(store, ref)).toEqual([])
        expect(await idsOf(store, anna('old'))).toEqual(['m1'])
      },
      'a cut thread has the state and the processed ids as they were at the cut': async ({ store, ref }) => {
        await commitTo(store, ref, { messages: [said('m1')], set: { a: 1 }, processed: ['p1'] })
        await commitTo(store, ref, { messages: [said('m2')], set: { a: 2, b: 2 }, processed: ['p2'] })
        await cutAt(store, ref, 'm1')
        expect(await stateOf(store, ref)).toEqual({ a: 1 })
        expect(await stateOf(store, anna('old'))).toEqual({ a: 2, b: 2 })
        expect(await store.threads.processed(ref, ['p1', 'p2'])).toEqual(['p1'])
        expect(await store.threads.processed(anna('old'), ['p1', 'p2'])).toEqual(['p1', 'p2'])
      },
      'the lease stays with the name, and everything else of the thread goes to the other one': async ({
        store,
        clock,
        ref,
      }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: [said('m1')], openCalls }, token)
        await begin(store, ref, token, ['a'])
        await store.records.apply(ref, [start('run-1')])
        await store.runLog.append(ref, 'run-1', 0, [1], true)
        clock.advance(1)
        const thread = await store.threads.cut(ref, { at: 'm1', to: 'old' }, token)
        const forkedFrom = { threadId: 'old', messageId: 'm1' }
        const fresh = {
          seq: 2,
          version: 0,
          state: {},
          openCalls: [],
          waiting: false,
          updatedAt: clock.now(),
          runId: 'run-1',
          forkedFrom,
        }
        expect(thread).toEqual({ ref, ...fresh })
        expect(await store.threads.get(ref)).toEqual(thread)
        const old = await store.threads.get(anna('old'))
        expect(old).toMatchObject({ seq: 1, openCalls, unfinished: 'run-1' })
        expect(Object.keys(old ?? {})).not.toContain('runId')
        expect(await store.records.runs(ref)).toEqual([])
        expect(await store.records.runs(anna('old'))).toMatchObject([{ runId: 'run-1' }])
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
        expect(await logged(store, anna('old'))).toHaveLength(1)
        expect((await store.threads.commit(ref, { messages: [said('m2')] }, token)).version).toBe(1)
        expect(await codeOf(store.threads.commit(anna('old'), {}, token))).toBe('LEASE_LOST')
      },
      'a thread may be cut again, and its branches stay as they are': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        const branch = await forkAt(store, ref, 'm2')
        await cutAt(store, ref, 'm1', 'old-1')
        await say(store, ref, 'b2', 'b3')
        await cutAt(store, ref, 'b2', 'old-2')
        await say(store, ref, 'c3')
        expect(await idsOf(store, ref)).toEqual(['m1', 'b2', 'c3'])
        expect(await idsOf(store, anna('old-2'))).toEqual(['m1', 'b2', 'b3'])
        expect(await idsOf(store, anna('old-1'))).toEqual(['m1', 'm2'])
        expect(await idsOf(store, branch)).toEqual(['m1', 'm2'])
        for (const id of ['old-1', 'old-2']) await store.threads.delete(anna(id))
        expect(await idsOf(store, ref)).toEqual(['m1', 'b2', 'c3'])
        expect(await idsOf(store, branch)).toEqual(['m1', 'm2'])
      },
      'a run id that was used before the cut belongs to the other name': async ({ store, ref }) => {
        const first = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: 1000, begins: true })
        await store.threads.open(ref)
        await store.threads.commit(ref, { messages: [said('m1')] }, first.token)
        await store.leases.release(ref, first.token)
        await cutAt(store, ref, 'm1')
        const again = { runId: 'run-1', ttlMs: 1000, begins: true }
        expect(await codeOf(store.leases.acquire(ref, again))).toBe('RUN_ID_TAKEN')
        await store.threads.delete(anna('old'))
        expect(await codeOf(store.leases.acquire(ref, again))).toBeUndefined()
      },
    },
  ),
  ...advised(
    'Refuse to cut with a token that does not hold the lease, at a message that is not there, or to a name that is taken, and change nothing.',
    {
      'only the holder of the lease cuts a thread': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        expect(await codeOf(store.threads.cut(ref, { at: 'm1', to: 'old' }, 1))).toBe('LEASE_LOST')
        const token = await hold(store, ref)
        expect(await codeOf(store.threads.cut(ref, { at: 'm1', to: 'old' }, token + 1))).toBe('LEASE_LOST')
        expect(await idsOf(store, ref)).toEqual(['m1', 'm2'])
        expect(await store.threads.get(anna('old'))).toBeUndefined()
      },
      'a cut at a message that the thread does not have, or to a name that is taken, changes nothing': async ({
        store,
        ref,
      }) => {
        await say(store, ref, 'm1', 'm2')
        await say(store, anna('old'), 'other')
        const token = await hold(store, ref)
        const before = await store.threads.list(ref)
        expect(await codeOf(store.threads.cut(ref, { at: 'other', to: 'free' }, token))).toBe('NOT_FOUND')
        for (const to of ['old', 'thread-1']) {
          expect(await codeOf(store.threads.cut(ref, { at: 'm1', to }, token))).toBe('THREAD_ID_TAKEN')
        }
        expect(await store.threads.list(ref)).toEqual(before)
        expect(await idsOf(store, ref)).toEqual(['m1', 'm2'])
      },
      'of several cuts at once each finds the thread as the one before has left it': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        const token = await hold(store, ref)
        const cuts = upTo(4).map((n) => codeOf(store.threads.cut(ref, { at: 'm1', to: `old-${n}` }, token)))
        expect(await Promise.all(cuts)).toEqual([undefined, undefined, undefined, undefined])
        const lengths = await Promise.all(upTo(4).map(async (n) => (await idsOf(store, anna(`old-${n}`))).length))
        expect(lengths.sort()).toEqual([1, 1, 1, 2])
        expect(await idsOf(store, ref)).toEqual(['m1'])
      },
    },
  ),
}
