import type { ThreadCommit } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, ben, codeOf, hold, said, summaryOf, TTL, upTo } from './store-samples.ts'

const openCalls = [{ callId: 'c1', name: 'pick', agentName: 'desk' }]
const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: { turn: 2 } }

/** Pages, lists and what maintenance finds. */
export const listClauses: StoreClauses = {
  ...advised(
    'Sort by seq, apply `after`, `newestFirst` and `limit` (1 to 1000, 100 by default), and refuse other pages with VALIDATION_FAILED.',
    {
      'messages come in pages of 100, a page begins after its cursor': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: upTo(105).map((n) => said(`m${n}`)) }, token)
        const seqs = async (page?: object) => (await store.threads.messages(ref, page)).map(({ seq }) => seq)
        expect(await seqs()).toEqual(upTo(100))
        expect(await seqs({ after: 100 })).toEqual([101, 102, 103, 104, 105])
        expect(await seqs({ after: 2, limit: 2 })).toEqual([3, 4])
        expect(await seqs({ after: -1, limit: 1 })).toEqual([1])
        expect(await seqs({ after: 105 })).toEqual([])
        expect(await seqs({ limit: 1000 })).toHaveLength(105)
      },
      'newestFirst goes backwards, from before its cursor': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: upTo(5).map((n) => said(`m${n}`)) }, token)
        const seqs = async (page: object) =>
          (await store.threads.messages(ref, { ...page, newestFirst: true })).map(({ seq }) => seq)
        expect(await seqs({})).toEqual([5, 4, 3, 2, 1])
        expect(await seqs({ limit: 2 })).toEqual([5, 4])
        expect(await seqs({ after: 4, limit: 2 })).toEqual([3, 2])
        expect(await seqs({ after: 1 })).toEqual([])
      },
      'a page with a limit outside 1 to 1000 or a cursor that is not a number is VALIDATION_FAILED': async ({
        store,
        ref,
      }) => {
        await store.threads.open(ref)
        const limits = [0, -1, 1.5, 1001, Number.NaN, '5' as never].map((limit) => ({ limit }))
        const cursors = [Number.NaN, Number.POSITIVE_INFINITY, '1' as never].map((after) => ({ after }))
        for (const page of [...limits, ...cursors]) {
          expect(await codeOf(store.threads.messages(ref, page))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.list(ref, page))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.runs(ref, page))).toBe('VALIDATION_FAILED')
        }
      },
      'threads are listed in order of opening, in pages, newest first if asked': async ({ store, ref }) => {
        for (const id of ['c', 'a', 'b']) await store.threads.open(anna(id))
        const { token } = await store.leases.acquire(anna('c'), { runId: 'run-1', ttlMs: TTL })
        await store.threads.commit(anna('c'), { set: { a: 1 } }, token)
        const ids = async (page?: object) => (await store.threads.list(ref, page)).map(({ ref }) => ref.threadId)
        expect(await ids()).toEqual(['c', 'a', 'b'])
        expect(await ids({ after: 1, limit: 1 })).toEqual(['a'])
        expect(await ids({ newestFirst: true, limit: 2 })).toEqual(['b', 'a'])
        expect(await ids({ newestFirst: true, after: 2 })).toEqual(['c'])
        expect(await store.threads.list(ref, { limit: 1 })).toEqual([await summaryOf(store, anna('c'))])
      },
    },
  ),
  ...advised(
    'Give summaries in lists: everything of a thread but state, openCalls and checkpoint, which are not read; and keep whether it waits, by the rule `isWaiting`.',
    {
      'lists have no state, open calls or checkpoints': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { set: { a: 1 }, openCalls, checkpoint }, token)
        clock.advance(TTL)
        const summary = { ref, seq: 1, version: 1, waiting: true, updatedAt: clock.now() - TTL }
        expect(await store.threads.list(ref)).toEqual([summary])
        expect(await store.threads.idle({ before: clock.now(), limit: 10 })).toEqual([summary])
      },
      'a thread waits for the results of its open calls and for answers that no run has taken': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        const waiting = async (commit: ThreadCommit) => {
          const { waiting } = await store.threads.commit(ref, commit, token)
          expect((await store.threads.list(ref)).map((thread) => thread.waiting)).toEqual([waiting])
          expect((await store.threads.get(ref))?.waiting).toBe(waiting)
          return waiting
        }
        expect((await store.threads.get(ref))?.waiting).toBe(false)
        expect(await waiting({ openCalls })).toBe(true)
        expect(await waiting({ set: { a: 1 } })).toBe(true)
        expect(await waiting({ checkpoint })).toBe(true)
        expect(await waiting({ openCalls: [] })).toBe(true)
        expect(await waiting({ checkpoint: { ...checkpoint, resumedBy: 'run-2' } })).toBe(false)
        expect(await waiting({ openCalls })).toBe(true)
        expect(await waiting({ openCalls: [], checkpoint })).toBe(true)
        expect(await waiting({ checkpoint: null })).toBe(false)
      },
    },
  ),
  ...advised(
    'Find threads of all owners with updatedAt before the time and no lease that counts, oldest first, and check limit and time.',
    {
      'idle finds threads of all owners not touched since, oldest first, at most limit': async ({ store, clock }) => {
        const begin = clock.now()
        for (const ref of [anna('b'), ben('a'), anna('c')]) {
          await store.threads.open(ref)
          clock.advance(10)
        }
        const token = await hold(store, anna('b'))
        await store.threads.commit(anna('b'), {}, token)
        await store.leases.release(anna('b'), token)
        const idle = (before: number, limit = 10) => store.threads.idle({ before, limit })
        expect(await idle(clock.now() + 1)).toEqual([
          await summaryOf(store, ben('a')),
          await summaryOf(store, anna('c')),
          await summaryOf(store, anna('b')),
        ])
        expect((await idle(clock.now() + 1, 1)).map(({ ref }) => ref)).toEqual([ben('a')])
        expect((await idle(begin + 11)).map(({ ref }) => ref)).toEqual([ben('a')])
        expect(await idle(begin + 10)).toEqual([])
      },
      'idle leaves out a thread that is held, until its lease expires': async ({ store, clock, ref }) => {
        await hold(store, ref)
        const idle = () => store.threads.idle({ before: clock.now() + 1, limit: 10 })
        clock.advance(TTL - 1)
        expect(await idle()).toEqual([])
        clock.advance(1)
        expect(await idle()).toHaveLength(1)
      },
      'a maintenance query without a sound limit or time is VALIDATION_FAILED': async ({ store }) => {
        for (const wrong of [{ limit: 0 }, { limit: 1001 }, { limit: 0.5 }, { before: Number.NaN }]) {
          const query = { before: 1, limit: 1, ...wrong }
          expect(await codeOf(store.threads.idle(query))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.records.open(query))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.journal.lost(query))).toBe('VALIDATION_FAILED')
        }
      },
    },
  ),
}
