import { expect } from 'vitest'
import { commitTo, forkAt, idsOf, say } from './fork-samples.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import {
  anna,
  begin,
  ben,
  call,
  codeOf,
  hold,
  logged,
  said,
  start,
  summaryOf,
  TTL,
  upTo,
  used,
} from './store-samples.ts'

const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: null }
const openCalls = [{ callId: 'c', name: 'weather', agentName: 'agent' }]

/** Branches: what they share with their source, and what they do not. */
export const forkClauses: StoreClauses = {
  ...advised(
    'Give a branch the messages of its source up to the cut with their ids, runs and sequences, number its own after them, and read pages across the cut.',
    {
      'a branch at a message has the messages up to it, with the same ids, runs and sequences': async ({
        store,
        ref,
      }) => {
        await say(store, ref, 'm1', 'm2')
        const other = { ...said('m3'), runId: 'run-2' }
        await commitTo(store, ref, { messages: [other, said('m4')] })
        const branch = await forkAt(store, ref, 'm3')
        expect(await store.threads.messages(branch)).toEqual((await store.threads.messages(ref)).slice(0, 3))
        expect(await idsOf(store, ref)).toEqual(['m1', 'm2', 'm3', 'm4'])
      },
      'a branch before a message has the messages before it': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2', 'm3')
        const branch = await store.threads.fork(ref, { before: 'm3', to: 'b' })
        expect(branch.forkedFrom).toEqual({ threadId: 'thread-1', messageId: 'm2' })
        expect(await idsOf(store, branch.ref)).toEqual(['m1', 'm2'])
      },
      'a branch before the first message has none, and counts from 1': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        const branch = await store.threads.fork(ref, { before: 'm1', to: 'b' })
        expect(branch.forkedFrom).toEqual({ threadId: 'thread-1' })
        expect(await idsOf(store, branch.ref)).toEqual([])
        await say(store, branch.ref, 'own')
        expect(await store.threads.messages(branch.ref)).toMatchObject([{ seq: 1, message: { id: 'own' } }])
      },
      'what a branch says goes on after the cut': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2', 'm3')
        const branch = await forkAt(store, ref, 'm2')
        await say(store, branch, 'b3', 'b4')
        const messages = await store.threads.messages(branch)
        expect(messages.map(({ seq, message }) => [seq, message.id])).toEqual([
          [1, 'm1'],
          [2, 'm2'],
          [3, 'b3'],
          [4, 'b4'],
        ])
      },
      'pages go across every cut, in both directions': async ({ store, ref }) => {
        await say(store, ref, 'a1', 'a2', 'a3', 'a4')
        const b = await forkAt(store, ref, 'a3', 'b')
        await say(store, b, 'b4', 'b5', 'b6')
        const c = await forkAt(store, b, 'b5', 'c')
        await say(store, c, 'c6', 'c7')
        const all = ['a1', 'a2', 'a3', 'b4', 'b5', 'c6', 'c7']
        for (const limit of upTo(8)) {
          for (const after of [-1, 0, ...upTo(8)]) {
            const next = all.slice(Math.max(0, after)).slice(0, limit)
            expect(await idsOf(store, c, { after, limit })).toEqual(next)
            const before = all.slice(0, Math.max(0, after - 1)).reverse()
            expect(await idsOf(store, c, { after, limit, newestFirst: true })).toEqual(before.slice(0, limit))
          }
          expect(await idsOf(store, c, { limit, newestFirst: true })).toEqual([...all].reverse().slice(0, limit))
        }
      },
      'a branch of a branch at a message that both share with the first has no more than that': async ({
        store,
        ref,
      }) => {
        await say(store, ref, 'a1', 'a2', 'a3')
        const b = await forkAt(store, ref, 'a3', 'b')
        await say(store, b, 'b4')
        const c = await forkAt(store, b, 'a2', 'c')
        await say(store, c, 'c3')
        const d = await forkAt(store, c, 'a2', 'd')
        expect(await idsOf(store, c)).toEqual(['a1', 'a2', 'c3'])
        expect(await idsOf(store, d)).toEqual(['a1', 'a2'])
        expect((await store.threads.get(d))?.forkedFrom).toEqual({ threadId: 'c', messageId: 'a2' })
      },
      'a message that a branch shares is not added to it again': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        const branch = await forkAt(store, ref, 'm2')
        await say(store, branch, 'm1', 'b3', 'm2')
        expect(await idsOf(store, branch)).toEqual(['m1', 'm2', 'b3'])
      },
    },
  ),
  ...advised(
    'Let a branch begin as a new thread of the same owner beside the messages, state and processed ids that it shares; keep everything else of the two apart.',
    {
      'a branch begins with its own version, lease, journal, records and logs, and without questions': async ({
        store,
        clock,
        ref,
      }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: [said('m1')], openCalls, checkpoint }, token)
        await begin(store, ref, token, ['a'])
        await store.records.apply(ref, [start('run-1'), call('c', 'running'), used('s')])
        await store.runLog.append(ref, 'run-1', 0, [1])
        clock.advance(1)
        const branch = await store.threads.fork(ref, { at: 'm1', to: 'b' })
        const forkedFrom = { threadId: 'thread-1', messageId: 'm1' }
        const fresh = {
          seq: 2,
          version: 0,
          waiting: false,
          state: {},
          openCalls: [],
          updatedAt: clock.now(),
          forkedFrom,
        }
        expect(branch).toEqual({ ref: anna('b'), ...fresh })
        expect(await store.threads.get(anna('b'))).toEqual(branch)
        expect(await store.journal.read(branch.ref)).toBeUndefined()
        expect(await store.records.runs(branch.ref)).toEqual([])
        expect(await store.records.toolCalls(branch.ref, 'run-1')).toEqual([])
        expect(await store.records.usage(branch.ref)).toEqual({ inputTokens: 0, outputTokens: 0 })
        expect(await codeOf(logged(store, branch.ref))).toBe('NOT_FOUND')
      },
      'a branch is made while a run holds its source, and leaves it as it is': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const before = await store.threads.commit(ref, { messages: [said('m1')], set: { a: 1 } }, token)
        const branch = await forkAt(store, ref, 'm1')
        expect(await store.threads.get(ref)).toEqual(before)
        expect(await hold(store, branch, 'run-2')).not.toBe(token)
        expect(await codeOf(store.threads.commit(branch, {}, token))).toBe('LEASE_LOST')
        expect((await store.threads.commit(ref, {}, token)).version).toBe(2)
      },
      'source and branch go on without each other': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2')
        const branch = await forkAt(store, ref, 'm2')
        await say(store, branch, 'b3', 'x')
        await say(store, ref, 'a3', 'x')
        await say(store, branch, 'b5')
        expect(await idsOf(store, ref)).toEqual(['m1', 'm2', 'a3', 'x'])
        expect(await idsOf(store, branch)).toEqual(['m1', 'm2', 'b3', 'x', 'b5'])
      },
      'branches are listed and found like any thread, and name their source': async ({ store, clock, ref }) => {
        await say(store, ref, 'm1')
        clock.advance(1)
        const branch = await store.threads.fork(ref, { at: 'm1', to: 'b' })
        const listed = await summaryOf(store, branch.ref)
        expect(listed.forkedFrom).toEqual(branch.forkedFrom)
        expect(await store.threads.list(ref)).toEqual([await summaryOf(store, ref), listed])
        expect(await store.threads.list(ref, { newestFirst: true, limit: 1 })).toEqual([listed])
        expect(Object.keys((await store.threads.get(ref)) ?? {})).not.toContain('forkedFrom')
        clock.advance(1)
        const idle = await store.threads.idle({ before: clock.now(), limit: 10 })
        expect(idle.map((thread) => thread.ref.threadId)).toEqual(['thread-1', 'b'])
        const token = await hold(store, branch.ref, 'run-2')
        expect((await store.threads.commit(branch.ref, {}, token)).forkedFrom).toEqual(branch.forkedFrom)
        await begin(store, branch.ref, token, [], 'run-2')
        clock.advance(TTL)
        const lost = await store.journal.lost({ before: clock.now(), limit: 10 })
        expect(lost).toMatchObject([{ ref: anna('b'), runId: 'run-2' }])
      },
      'twenty branches at once have a seq each': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        const forks = upTo(20).map((n) => store.threads.fork(ref, { at: 'm1', to: `b${n}` }))
        const seqs = (await Promise.all(forks)).map(({ seq }) => seq)
        expect(seqs.sort((a, b) => a - b)).toEqual(upTo(21).slice(1))
      },
    },
  ),
  ...advised(
    'Refuse a source or a message that is not there with NOT_FOUND, then an id that a thread or a live lease has with THREAD_ID_TAKEN, and change nothing.',
    {
      'a branch of a thread that does not exist, is deleted or is foreign is NOT_FOUND': async ({ store, ref }) => {
        const fork = (of = ref) => codeOf(store.threads.fork(of, { at: 'm1', to: 'b' }))
        expect(await fork()).toBe('NOT_FOUND')
        await say(store, ref, 'm1')
        expect(await fork(ben())).toBe('NOT_FOUND')
        await store.threads.delete(ref)
        expect(await fork()).toBe('NOT_FOUND')
        expect(await store.threads.list(ref)).toEqual([])
        expect(await store.threads.list(ben())).toEqual([])
      },
      'a branch at a message that the thread does not have is NOT_FOUND': async ({ store, ref }) => {
        await say(store, ref, 'm1', 'm2', 'm3')
        await say(store, anna('other'), 'foreign')
        const branch = await forkAt(store, ref, 'm2')
        await say(store, branch, 'b3')
        expect(await codeOf(store.threads.fork(ref, { at: 'foreign', to: 'x' }))).toBe('NOT_FOUND')
        expect(await codeOf(store.threads.fork(ref, { at: 'b3', to: 'x' }))).toBe('NOT_FOUND')
        expect(await codeOf(store.threads.fork(branch, { at: 'm3', to: 'x' }))).toBe('NOT_FOUND')
        expect(await codeOf(store.threads.fork(branch, { before: 'm3', to: 'x' }))).toBe('NOT_FOUND')
        expect(await store.threads.get(anna('x'))).toBeUndefined()
      },
      'a branch whose id is taken is THREAD_ID_TAKEN and changes nothing': async ({ store, clock, ref }) => {
        await say(store, ref, 'm1')
        await say(store, anna('b'), 'other')
        for (const to of ['b', 'thread-1']) {
          expect(await codeOf(store.threads.fork(ref, { at: 'm1', to }))).toBe('THREAD_ID_TAKEN')
        }
        expect(await idsOf(store, anna('b'))).toEqual(['other'])
        const { token } = await store.leases.acquire(anna('c'), { runId: 'run-9', ttlMs: TTL })
        expect(await codeOf(store.threads.fork(ref, { at: 'm1', to: 'c' }))).toBe('THREAD_ID_TAKEN')
        clock.advance(TTL)
        const branch = await forkAt(store, ref, 'm1', 'c')
        expect(await codeOf(store.threads.commit(branch, { set: { late: true } }, token))).toBe('LEASE_LOST')
      },
      'another owner may have a thread with the id of a branch': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        await say(store, ben('b'), 'other')
        expect(await idsOf(store, await forkAt(store, ref, 'm1', 'b'))).toEqual(['m1'])
        expect(await idsOf(store, ben('b'))).toEqual(['other'])
      },
      'of several branches with one id that are made at once one is': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        const codes = await Promise.all(upTo(5).map(() => codeOf(store.threads.fork(ref, { at: 'm1', to: 'b' }))))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(codes.filter((code) => code === 'THREAD_ID_TAKEN')).toHaveLength(4)
      },
    },
  ),
}
