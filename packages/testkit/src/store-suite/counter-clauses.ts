import type { Count, CounterStore, Owner } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, hold, upTo } from './store-samples.ts'

/** What is added to a counter that lives long. */
function count(name: string, by: number, expiresAt = 1e15): Count {
  return { name, by, expiresAt }
}

/** What counters have now. */
async function read(counters: CounterStore | undefined, owner: Owner, ...names: readonly string[]) {
  return counters?.add(
    owner,
    names.map((name) => count(name, 0)),
  )
}

/** Numbers that several processes count together. */
export const counterClauses: StoreClauses = {
  ...advised(
    'Add to each counter in one step (an upsert that adds), and give what it has then, in the order of the call; adding 0 reads.',
    {
      'counters add up, and each call gives what they have then': async ({ store: { counters }, ref }) => {
        expect(await counters?.add(ref, [count('b', 2), count(AWKWARD, 0.5), count('a', 1)])).toEqual([2, 0.5, 1])
        expect(await counters?.add(ref, [count('a', 1.25), count('new', -3), count('b', -2)])).toEqual([2.25, -3, 0])
        expect(await counters?.add(ref, [])).toEqual([])
        expect(await read(counters, ref, AWKWARD, 'a', 'b', 'new')).toEqual([0.5, 2.25, 0, -3])
      },
      'a counter that is added to many times at once loses nothing': async ({ store: { counters }, ref }) => {
        const given = await Promise.all(upTo(50).map((n) => counters?.add(ref, [count(n % 2 ? 'a' : 'b', 1)])))
        expect(new Set(given.map((one, i) => `${i % 2}:${one}`)).size).toBe(50)
        expect(await read(counters, ref, 'a', 'b')).toEqual([25, 25])
      },
      'calls that name the same counters in another order at once all count': async ({ store: { counters }, ref }) => {
        const names = upTo(8).map((n) => `c${n}`)
        await Promise.all(
          upTo(20).map((n) =>
            counters?.add(
              ref,
              (n % 2 ? names : names.toReversed()).map((name) => count(name, 1)),
            ),
          ),
        )
        expect(await read(counters, ref, ...names)).toEqual(names.map(() => 20))
      },
      'reading makes no counter and does not keep one': async ({ store: { counters }, clock, ref }) => {
        const end = clock.now() + 10
        expect(await counters?.add(ref, [count('none', 0), count('a', 1, end)])).toEqual([0, 1])
        await read(counters, ref, 'a')
        clock.advance(10)
        expect(await read(counters, ref, 'a', 'none')).toEqual([0, 0])
        expect(await counters?.prune({ before: 1e16, limit: 10 })).toBe(1)
      },
      'counters of another owner are neither seen nor changed': async ({ store: { counters }, ref }) => {
        await counters?.add(ref, [count('a', 5)])
        for (const foreign of [ben(), { ...ref, app: 'other' }]) {
          expect(await read(counters, foreign, 'a')).toEqual([0])
          expect(await counters?.add(foreign, [count('a', 1)])).toEqual([1])
        }
        expect(await read(counters, ref, 'a')).toEqual([5])
      },
      'counters belong to no thread': async ({ store, ref }) => {
        await hold(store, ref)
        await store.counters?.add(ref, [count('a', 5)])
        await store.threads.delete(ref)
        expect(await read(store.counters, anna('t2'), 'a')).toEqual([5])
      },
    },
  ),
  ...advised('Keep when a counter expires, set it with each addition, and begin at 0 from that moment on.', {
    'a counter begins again when it has expired': async ({ store: { counters }, clock, ref }) => {
      const end = clock.now() + 10
      await counters?.add(ref, [count('a', 5, end), count('b', 5, end)])
      clock.advance(9)
      expect(await counters?.add(ref, [count('a', 1, end + 10), count('b', 1, end)])).toEqual([6, 6])
      clock.advance(1)
      expect(await read(counters, ref, 'a', 'b')).toEqual([6, 0])
      expect(await counters?.add(ref, [count('a', 1, end + 20), count('b', 1, end + 20)])).toEqual([7, 1])
    },
    'prune deletes counters that have expired, and no more than it may': async ({ store: { counters }, ref }) => {
      for (const n of upTo(5)) await counters?.add(n % 2 ? ref : ben(), [count(`c${n}`, n, 1e15 + n)])
      expect(await counters?.prune({ before: 1e15 + 1, limit: 10 })).toBe(0)
      expect(await counters?.prune({ before: 1e15 + 5, limit: 3 })).toBe(3)
      expect(await counters?.prune({ before: 1e15 + 5, limit: 3 })).toBe(1)
      expect(await read(counters, ref, 'c1', 'c3', 'c5')).toEqual([0, 0, 5])
    },
  }),
}
