import type { Json } from '@troupe/kernel'
import { expect } from 'vitest'
import { demandNoListeners } from '../suite/listeners.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, codeOf, collect, logged, upTo } from './store-samples.ts'

/** The events of a run as they were shown. */
export const runLogClauses: StoreClauses = {
  ...advised(
    'Compare `after` with the last sequence, and append, in one step: anything else, or a closed log, is VERSION_CONFLICT.',
    {
      'append tells the last sequence, which the next append must know': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect(await store.runLog.append(ref, 'run-1', 0, ['a', 'b'])).toBe(2)
        expect(await store.runLog.append(ref, 'run-1', 2, [])).toBe(2)
        expect(await store.runLog.append(ref, 'run-1', 2, ['c'])).toBe(3)
        expect(await logged(store, ref)).toEqual(['a', 'b', 'c'])
      },
      'an append that does not know the last sequence is VERSION_CONFLICT and changes nothing': async ({
        store,
        ref,
      }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a', 'b'])
        for (const after of [0, 1, 3, -1, 1.5]) {
          expect(await codeOf(store.runLog.append(ref, 'run-1', after, ['x'], true)), `${after}`).toBe(
            'VERSION_CONFLICT',
          )
        }
        expect(await store.runLog.append(ref, 'run-1', 2, ['c'])).toBe(3)
        expect(await logged(store, ref)).toEqual(['a', 'b', 'c'])
      },
      'a first append that claims to be a later one is VERSION_CONFLICT and makes no log': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect(await codeOf(store.runLog.append(ref, 'run-1', 1, ['x']))).toBe('VERSION_CONFLICT')
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
      },
      'of writers at once one wins': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['first'])
        const codes = await Promise.all(upTo(10).map((n) => codeOf(store.runLog.append(ref, 'run-1', 1, [n, n]))))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(codes.filter((code) => code === 'VERSION_CONFLICT')).toHaveLength(9)
        const winner = codes.indexOf(undefined) + 1
        expect(await logged(store, ref)).toEqual(['first', winner, winner])
      },
      'a closed log takes nothing more': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect(await store.runLog.append(ref, 'run-1', 0, ['a'], true)).toBe(1)
        expect(await codeOf(store.runLog.append(ref, 'run-1', 1, ['b']))).toBe('VERSION_CONFLICT')
        expect(await codeOf(store.runLog.append(ref, 'run-1', 1, [], true))).toBe('VERSION_CONFLICT')
        expect(await logged(store, ref)).toEqual(['a'])
      },
      'a log may be closed without events, also one that never had any': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        expect(await store.runLog.append(ref, 'run-1', 1, [], true)).toBe(1)
        expect(await store.runLog.append(ref, 'run-2', 0, [], true)).toBe(0)
        const { signal } = new AbortController()
        expect(await collect(store.runLog.follow(ref, 'run-2', { signal }))).toEqual([])
      },
    },
  ),
  ...advised(
    'Look for the thread and the log before you write or follow: NOT_FOUND if one is missing, VALIDATION_FAILED for names and cursors that are not sound.',
    {
      'an append to a thread nobody opened is NOT_FOUND': async ({ store, ref }) => {
        expect(await codeOf(store.runLog.append(ref, 'run-1', 0, ['a']))).toBe('NOT_FOUND')
        expect(await store.threads.get(ref)).toBeUndefined()
      },
      'following a log that is not there is NOT_FOUND': async ({ store, ref }) => {
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
        await store.threads.open(ref)
        expect(await codeOf(logged(store, ref))).toBe('NOT_FOUND')
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        expect(await codeOf(logged(store, ref, 'run-2'))).toBe('NOT_FOUND')
        await store.threads.open(anna('t2'))
        expect(await codeOf(logged(store, anna('t2')))).toBe('NOT_FOUND')
      },
      'a run log without sound names and cursors is VALIDATION_FAILED': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect(await codeOf(store.runLog.append(ref, '', 0, []))).toBe('VALIDATION_FAILED')
        expect(await codeOf(store.runLog.append({ ...ref, user: '' }, 'run-1', 0, []))).toBe('VALIDATION_FAILED')
        expect(await codeOf(store.runLog.append(ref, 'run-1', Number.NaN, []))).toBe('VALIDATION_FAILED')
        expect(await codeOf(logged(store, ref, ''))).toBe('VALIDATION_FAILED')
        const { signal } = new AbortController()
        const follow = store.runLog.follow(ref, 'run-1', { after: Number.NaN, signal })
        expect(await codeOf(collect(follow))).toBe('VALIDATION_FAILED')
      },
    },
  ),
  ...advised(
    'Keep each event as it was, numbered from 1 by run; begin a follower after its cursor, and end one without `live` with what is there.',
    {
      'events come back as they were, numbered from 1': async ({ store, ref }) => {
        await store.threads.open(ref)
        const events: Json[] = [{ type: 'text-delta', delta: AWKWARD }, null, [1, { a: [] }], 'text', 0, false]
        await store.runLog.append(ref, 'run-1', 0, events, true)
        const { signal } = new AbortController()
        const seen = await collect(store.runLog.follow(ref, 'run-1', { signal }))
        expect(seen).toEqual(events.map((event, i) => ({ seq: i + 1, event })))
      },
      'events that come with their JSON are the same as without it': async ({ store, ref }) => {
        await store.threads.open(ref)
        const events: Json[] = [{ type: 'text-delta', delta: AWKWARD }, null, [1, { a: [] }], 'text', 0, false]
        const texts = events.map((event) => JSON.stringify(event))
        await store.runLog.append(ref, 'run-1', 0, events.slice(0, 2), false, texts.slice(0, 2))
        expect(await store.runLog.append(ref, 'run-1', 2, events.slice(2), true, texts.slice(2))).toBe(6)
        expect(await logged(store, ref)).toEqual(events)
      },
      'logs of two runs are apart': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['one'], true)
        await store.runLog.append(ref, 'run-2', 0, ['two'])
        expect(await logged(store, ref, 'run-1')).toEqual(['one'])
        expect(await logged(store, ref, 'run-2')).toEqual(['two'])
      },
      'follow begins after its cursor': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a', 'b', 'c'], true)
        const { signal } = new AbortController()
        const seqs = async (after: number) =>
          (await collect(store.runLog.follow(ref, 'run-1', { after, signal }))).map(({ seq }) => seq)
        expect(await seqs(0)).toEqual([1, 2, 3])
        expect(await seqs(-1)).toEqual([1, 2, 3])
        expect(await seqs(1.5)).toEqual([2, 3])
        expect(await seqs(2)).toEqual([3])
        expect(await seqs(3)).toEqual([])
        expect(await seqs(4)).toEqual([])
      },
      'follow without live ends with what is there': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        expect(await collect(store.runLog.follow(ref, 'run-1', { live: false, signal }))).toEqual([
          { seq: 1, event: 'a' },
        ])
        expect(await collect(store.runLog.follow(ref, 'run-1', { live: false, after: 1, signal }))).toEqual([])
      },
    },
  ),
  ...advised(
    'Let a live follower read what is there, wait for a change, and read again from the last sequence it has shown, until the log is closed.',
    {
      'a live follower gets what is there, then what comes, and ends with the log': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
        expect((await follower.next()).value).toEqual([{ seq: 1, event: 'a' }])
        const parked = follower.next()
        await store.runLog.append(ref, 'run-1', 1, ['b'])
        expect((await parked).value).toEqual([{ seq: 2, event: 'b' }])
        const last = follower.next()
        await store.runLog.append(ref, 'run-1', 2, ['c'], true)
        expect((await last).value).toEqual([{ seq: 3, event: 'c' }])
        expect((await follower.next()).done).toBe(true)
      },
      'closing without events ends a waiting follower': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [])
        const { signal } = new AbortController()
        const end = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]().next()
        await store.runLog.append(ref, 'run-1', 0, [], true)
        expect((await end).done).toBe(true)
      },
      'a follower ahead of the log waits for what it has not seen': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        const seen = collect(store.runLog.follow(ref, 'run-1', { after: 2, signal }))
        await store.runLog.append(ref, 'run-1', 1, ['b'])
        await store.runLog.append(ref, 'run-1', 2, ['c'], true)
        expect(await seen).toEqual([{ seq: 3, event: 'c' }])
      },
      'every follower gets every event, in order, each once': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [0])
        const { signal } = new AbortController()
        const early = upTo(5).map(() => collect(store.runLog.follow(ref, 'run-1', { signal })))
        const waiting = upTo(5).map(() => collect(store.runLog.follow(ref, 'run-1', { after: 1, signal })))
        for (const n of upTo(50)) await store.runLog.append(ref, 'run-1', n, [n], n === 50)
        const all = [0, ...upTo(50)].map((event) => ({ seq: event + 1, event }))
        for (const seen of await Promise.all(early)) expect(seen).toEqual(all)
        for (const seen of await Promise.all(waiting)) expect(seen).toEqual(all.slice(1))
      },
      'a slow follower gets what it missed in fewer batches than were written': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [0])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { signal })
        let batches = 0
        const seen: number[] = []
        for await (const batch of follower) {
          if (batches++ === 0) for (const n of upTo(50)) await store.runLog.append(ref, 'run-1', n, [n], n === 50)
          seen.push(...batch.map(({ seq }) => seq))
        }
        expect(seen).toEqual(upTo(51))
        expect(batches).toBeLessThan(10)
      },
      'a follower that never reads holds up neither writer nor others': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        const idle = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
        await idle.next()
        const reader = collect(store.runLog.follow(ref, 'run-1', { signal }))
        await store.runLog.append(ref, 'run-1', 1, ['b'], true)
        expect(await reader).toHaveLength(2)
        await idle.return?.()
      },
    },
  ),
  ...advised(
    'End followers quietly on abort, when the reader leaves and when the store is disposed, and remove their listeners in a `finally`.',
    {
      'an abort ends a waiting follower quietly and leaves the log alone': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const abort = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { after: 1, signal: abort.signal })[Symbol.asyncIterator]()
        const parked = follower.next()
        abort.abort()
        expect((await parked).done).toBe(true)
        await demandNoListeners(abort.signal, 'A follower')
        expect(await store.runLog.append(ref, 'run-1', 1, ['b'])).toBe(2)
      },
      'a follower aborted between batches, or before it begins, shows nothing more': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const abort = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { signal: abort.signal })[Symbol.asyncIterator]()
        await follower.next()
        await store.runLog.append(ref, 'run-1', 1, ['b'])
        abort.abort()
        expect((await follower.next()).done).toBe(true)
        expect(await collect(store.runLog.follow(ref, 'run-1', { signal: abort.signal }))).toEqual([])
      },
      'no listener stays on the signal when the log ends or the reader leaves': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        for await (const _ of store.runLog.follow(ref, 'run-1', { signal })) break
        await demandNoListeners(signal, 'A follower')
        const waiting = collect(store.runLog.follow(ref, 'run-1', { signal }))
        await store.runLog.append(ref, 'run-1', 1, ['b'])
        await store.runLog.append(ref, 'run-1', 2, ['c'], true)
        await waiting
        await demandNoListeners(signal, 'A follower')
      },
      'a reader that leaves does not end the others': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const [leaving, staying] = [new AbortController(), new AbortController()]
        const gone = collect(store.runLog.follow(ref, 'run-1', { signal: leaving.signal }))
        const reader = collect(store.runLog.follow(ref, 'run-1', { signal: staying.signal }))
        leaving.abort()
        await gone
        await store.runLog.append(ref, 'run-1', 1, ['b'], true)
        expect(await reader).toHaveLength(2)
      },
      'disposing the store ends live followers': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { after: 1, signal })[Symbol.asyncIterator]()
        const parked = follower.next()
        await store[Symbol.asyncDispose]()
        expect((await parked).done).toBe(true)
        await demandNoListeners(signal, 'A follower')
      },
      'what a caller does to its list of events does not reach the log': async ({ store, ref }) => {
        await store.threads.open(ref)
        const events = ['a']
        await store.runLog.append(ref, 'run-1', 0, events)
        events.push('b')
        expect(await store.runLog.append(ref, 'run-1', 1, ['c'])).toBe(2)
        expect(await logged(store, ref)).toEqual(['a', 'c'])
      },
    },
  ),
}
