import type { Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, begin, ben, codeOf, collect, hold, logged, TTL, upTo } from './store-samples.ts'

const ENTRIES = [
  { seq: 2, event: { all: ['a', 'b', AWKWARD] } },
  { seq: 5, event: null },
  { seq: 6, event: 'f' },
]

/** How run logs become shorter, and end. */
export const runLogUpkeepClauses: StoreClauses = {
  ...advised(
    'Compact a log in one step: if it is closed, was not compacted before and ends with the last `seq`, delete its events, keep the entries with their own sequences, and give true; else change nothing and give false.',
    {
      'a compacted log has the entries in place of its events, from every cursor': async ({ store, ref }) => {
        await closedLog(store, ref)
        expect(await store.runLog.compact(ref, 'run-1', ENTRIES)).toBe(true)
        const { signal } = new AbortController()
        const seqs = async (after: number) =>
          (await collect(store.runLog.follow(ref, 'run-1', { after, signal }))).map(({ seq }) => seq)
        expect(await collect(store.runLog.follow(ref, 'run-1', { signal }))).toEqual(ENTRIES)
        expect(await seqs(1)).toEqual([2, 5, 6])
        expect(await seqs(2)).toEqual([5, 6])
        expect(await seqs(3)).toEqual([5, 6])
        expect(await seqs(5)).toEqual([6])
        expect(await seqs(6)).toEqual([])
      },
      'a compacted log may be long, and one of its entries too': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, upTo(5_000), true)
        const entries = [1, 2_000, 2_001, ...upTo(900).map((n) => 2_001 + 3 * n), 5_000].map((seq) => ({
          seq,
          event: `${seq} ${'x'.repeat(seq === 2_000 ? 200_000 : 200)}`,
        }))
        expect(await store.runLog.compact(ref, 'run-1', entries)).toBe(true)
        const { signal } = new AbortController()
        const after = async (cursor: number) => collect(store.runLog.follow(ref, 'run-1', { after: cursor, signal }))
        expect(await after(0)).toEqual(entries)
        expect(await after(40)).toEqual(entries.slice(1))
        expect((await after(4_999)).map(({ seq }) => seq)).toEqual([5_000])
      },
      'a follower in the middle of a log that is compacted goes on from where it is': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a', 'b', 'c'])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
        expect((await follower.next()).value).toHaveLength(3)
        await store.runLog.append(ref, 'run-1', 3, ['d', 'e', 'f'], true)
        expect(await store.runLog.compact(ref, 'run-1', ENTRIES)).toBe(true)
        expect((await follower.next()).value).toEqual(ENTRIES.slice(1))
        expect((await follower.next()).done).toBe(true)
      },
      'a log is compacted once, also by several at once': async ({ store, ref }) => {
        await closedLog(store, ref)
        const entries = (n: number) => [{ seq: 6, event: n }]
        const done = await Promise.all(upTo(5).map((n) => store.runLog.compact(ref, 'run-1', entries(n))))
        expect(done.filter((first) => first)).toHaveLength(1)
        expect(await logged(store, ref)).toEqual([done.indexOf(true) + 1])
        expect(await store.runLog.compact(ref, 'run-1', entries(9))).toBe(false)
        expect(await logged(store, ref)).toEqual([done.indexOf(true) + 1])
      },
      'a log that is open, ends elsewhere or does not exist is not compacted': async ({ store, ref }) => {
        const compact = (seq: number, of = ref) => store.runLog.compact(of, 'run-1', [{ seq, event: 'all' }])
        expect(await compact(2)).toBe(false)
        await store.threads.open(ref)
        expect(await compact(2)).toBe(false)
        await store.runLog.append(ref, 'run-1', 0, ['a', 'b'])
        expect(await compact(2)).toBe(false)
        await store.runLog.append(ref, 'run-1', 2, ['c'], true)
        expect(await compact(2)).toBe(false)
        expect(await compact(4)).toBe(false)
        expect(await compact(3, ben())).toBe(false)
        expect(await store.runLog.compact(ref, 'run-1', [])).toBe(false)
        expect(await logged(store, ref)).toEqual(['a', 'b', 'c'])
        expect(await compact(3)).toBe(true)
      },
      'a compacted log is closed, and goes with its thread when that is cut': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const message = { id: 'm1', role: 'user', content: 'Hi' } as const
        await store.threads.commit(ref, { messages: [{ runId: 'run-1', message }] }, token)
        await closedLog(store, ref)
        await store.runLog.compact(ref, 'run-1', ENTRIES)
        expect(await codeOf(store.runLog.append(ref, 'run-1', 6, ['g']))).toBe('VERSION_CONFLICT')
        await store.threads.cut(ref, { before: 'm1', to: 'old' }, token)
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
        expect(await logged(store, anna('old'))).toHaveLength(3)
      },
    },
  ),
  ...advised(
    'Note when a log is begun and when it is closed. Prune those of before, oldest first, up to `limit`: closed ones, and open ones whose run neither has a live lease nor is the unfinished run of the thread.',
    {
      'prune deletes logs that were closed before a time, oldest first, up to a limit': async ({
        store,
        clock,
        ref,
      }) => {
        await closedLog(store, ref, 'run-1')
        clock.advance(10)
        await store.runLog.append(ref, 'run-2', 0, ['a'])
        clock.advance(10)
        await closedLog(store, ben(), 'run-3')
        clock.advance(10)
        await store.runLog.append(ref, 'run-2', 1, ['b'], true)
        const now = clock.now()
        const prune = (before: number, limit = 10) => store.runLog.prune({ before, limit })
        expect(await prune(now - 30)).toBe(0)
        expect(await prune(now + 1, 1)).toBe(1)
        expect(await codeOf(logged(store, ref, 'run-1'))).toBe('NOT_FOUND')
        expect(await prune(now)).toBe(1)
        expect(await codeOf(logged(store, ben(), 'run-3'))).toBe('NOT_FOUND')
        expect(await logged(store, ref, 'run-2')).toEqual(['a', 'b'])
        expect(await prune(now + 1)).toBe(1)
        expect(await prune(now + 1)).toBe(0)
        expect(await store.threads.get(ref)).toBeDefined()
      },
      'prune leaves the logs of other apps, if it is for some': async ({ store, clock, ref }) => {
        const other = { ...ref, app: 'other' }
        for (const one of [ref, other]) await closedLog(store, one)
        clock.advance(10)
        const prune = (apps: readonly string[]) => store.runLog.prune({ before: clock.now(), limit: 10, apps })
        expect(await prune([])).toBe(0)
        expect(await prune(['else', 'other'])).toBe(1)
        expect(await logged(store, ref)).toHaveLength(6)
        expect(await codeOf(logged(store, other))).toBe('NOT_FOUND')
      },
      'prune deletes an open log if nobody writes it any more': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        for (const runId of ['run-0', 'run-1']) await store.runLog.append(ref, runId, 0, ['a'])
        const prune = () => store.runLog.prune({ before: clock.now(), limit: 10 })
        clock.advance(10)
        expect(await prune()).toBe(1)
        expect(await codeOf(logged(store, ref, 'run-0'))).toBe('NOT_FOUND')
        await begin(store, ref, token, [])
        clock.advance(TTL + 1)
        expect(await prune()).toBe(0)
        expect(await logged(store, ref)).toEqual(['a'])
        await store.threads.commit(ref, { journal: null }, token)
        expect(await prune()).toBe(1)
      },
      'prune ends the followers of what it deletes': async ({ store, clock, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { after: 0, signal })[Symbol.asyncIterator]()
        // A follower that has not found its log yet would get NOT_FOUND.
        expect((await follower.next()).done).toBe(false)
        const parked = follower.next()
        clock.advance(10)
        expect(await store.runLog.prune({ before: clock.now(), limit: 10 })).toBe(1)
        expect((await parked).done).toBe(true)
      },
    },
  ),
}

/** Opens a thread with a log of six events that is closed. */
async function closedLog(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<void> {
  await store.threads.open(ref)
  await store.runLog.append(ref, runId, 0, ['a', 'b', 'c', 'd', 'e', 'f'], true)
}
