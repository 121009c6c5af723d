import { expect } from 'vitest'
import type { FakeClock } from '../fake-clock.ts'
import { Fault } from '../fault.ts'
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
  refusals,
  runOf,
  said,
  start,
  statuses,
  TTL,
  upTo,
  used,
} from './store-samples.ts'

/** How long a follower may take to hear of what another instance wrote. */
const HEARD_WITHIN_MS = 4_000

/** Waits for what another instance does, while the clock goes on for stores that look now and then. */
async function heard<T>(clock: FakeClock, what: string, work: Promise<T>): Promise<T> {
  let settled = false
  const done = work.finally(() => {
    settled = true
  })
  done.catch(() => undefined)
  for (const begin = performance.now(); !settled; ) {
    if (performance.now() - begin > HEARD_WITHIN_MS) throw new Fault(`${what} within ${HEARD_WITHIN_MS} ms`)
    clock.advance(10)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return done
}

/** Two stores on the same data, as two processes have them. */
export const pairClauses: StoreClauses = {
  ...advised(
    'Decide every write where the data is kept (one transaction, one conditional statement), not by what this instance has in memory, and read what others may have changed anew.',
    {
      'two instances: a lease of one keeps the other out until it is released or expires': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        const token = await hold(store, ref)
        expect(await codeOf(other.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
        expect((await other.threads.get(ref))?.runId).toBe('run-1')
        await store.leases.release(ref, token)
        const second = await hold(other, ref, 'run-2')
        expect(second).toBeGreaterThan(token)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-3', ttlMs: TTL }))).toBe('THREAD_BUSY')
        clock.advance(TTL)
        expect(await hold(store, ref, 'run-3')).toBeGreaterThan(second)
      },
      'two instances: of twenty that want a free thread, half on each, one gets it': async ({ store, ref, reopen }) => {
        const stores = [store, await reopen()] as const
        const codes = await Promise.all(
          upTo(20).map((n) => codeOf(stores[n % 2 ? 0 : 1].leases.acquire(ref, { runId: `run-${n}`, ttlMs: TTL }))),
        )
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(codes.filter((code) => code === 'THREAD_BUSY')).toHaveLength(19)
      },
      'two instances: one that took over fences the other off': async ({ store, clock, ref, reopen }) => {
        const other = await reopen()
        const stale = await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        clock.advance(TTL)
        const token = await hold(other, ref, 'run-2')
        await other.threads.commit(ref, { messages: [said('m1')] }, token)
        expect(await codeOf(store.threads.commit(ref, { messages: [said('late')] }, stale))).toBe('LEASE_LOST')
        expect(await codeOf(store.leases.renew(ref, stale, TTL))).toBe('LEASE_LOST')
        expect(await runOf(store, ref)).toMatchObject({ status: 'failed', error: { code: 'LEASE_LOST' } })
        expect((await store.threads.messages(ref)).map(({ message }) => message.id)).toEqual(['m1'])
      },
      'two instances: a run that one lost goes on at the other, with every step': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        const stale = await hold(store, ref)
        await begin(store, ref, stale, ['a'])
        await store.journal.append(ref, 'run-1', ['b'], stale)
        expect(await other.journal.read(ref)).toEqual({ runId: 'run-1', entries: ['a', 'b'] })
        clock.advance(TTL)
        const lost = await other.journal.lost({ before: clock.now(), limit: 10 })
        expect(lost.map(({ runId }) => runId)).toEqual(['run-1'])
        const token = await hold(other, ref)
        await other.journal.append(ref, 'run-1', ['c'], token)
        expect(await codeOf(store.journal.append(ref, 'run-1', ['late'], stale))).toBe('LEASE_LOST')
        expect(await entriesOf(store, ref)).toEqual(['a', 'b', 'c'])
        await other.threads.commit(ref, { journal: null }, token)
        expect((await store.threads.get(ref))?.unfinished).toBeUndefined()
        expect(await store.journal.read(ref)).toBeUndefined()
      },
      'two instances: no append to a journal gets in after a take-over, however both race': async ({
        store,
        clock,
        reopen,
      }) => {
        const other = await reopen()
        for (const n of upTo(10)) {
          const ref = anna(`t${n}`)
          const stale = await hold(store, ref)
          await begin(store, ref, stale, [])
          clock.advance(TTL)
          const takeOver = async () => {
            await other.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
            return entriesOf(other, ref)
          }
          const [seen, ...codes] = await Promise.all([
            takeOver(),
            ...upTo(5).map((entry) => codeOf(store.journal.append(ref, 'run-1', [entry], stale))),
          ])
          const written = upTo(5).filter((_, i) => codes[i] === undefined)
          expect(codes.filter((code) => code !== undefined && code !== 'LEASE_LOST')).toEqual([])
          expect((seen as number[]).toSorted()).toEqual(written)
          expect(await entriesOf(store, ref)).toEqual(seen)
        }
      },
      'two instances: a cancel asked of one reaches the holder at the other': async ({ store, ref, reopen }) => {
        const other = await reopen()
        const token = await hold(store, ref)
        expect(await other.leases.requestCancel(ref, { runId: 'run-1', mode: 'after-model' })).toBe(true)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({ cancel: 'after-model' })
      },
      'two instances: what one commits the other reads': async ({ store, ref, reopen }) => {
        const other = await reopen()
        await other.threads.open(ref)
        expect((await other.threads.get(ref))?.version).toBe(0)
        const token = await hold(store, ref)
        const thread = await store.threads.commit(
          ref,
          { set: { a: 1 }, messages: [said('m1')], processed: ['p'] },
          token,
        )
        expect(await other.threads.get(ref)).toEqual(thread)
        expect(await other.threads.messages(ref)).toEqual([{ seq: 1, ...said('m1') }])
        expect(await other.threads.processed(ref, ['p'])).toEqual(['p'])
        expect((await other.threads.commit(ref, { messages: [said('m2')] }, token)).version).toBe(2)
        expect((await store.threads.messages(ref)).map(({ seq }) => seq)).toEqual([1, 2])
      },
      'two instances: what one deletes is gone for the other': async ({ store, ref, reopen }) => {
        const other = await reopen()
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        expect(await other.threads.delete(ref)).toBe(true)
        expect(await store.threads.get(ref)).toBeUndefined()
        expect(await codeOf(store.threads.commit(ref, { messages: [said('late')] }, token))).toBe('LEASE_LOST')
        expect(await refusals(store, ref, [finish('run-1')])).toEqual([true])
      },
      'two instances: what one records the other reads, and the first finish wins for both': async ({
        store,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        await store.threads.open(ref)
        await store.records.apply(ref, [start('run-1'), call('c', 'running'), used('s1')])
        expect(await statuses(other, ref)).toEqual({ c: 'running' })
        await other.records.apply(ref, [call('c', 'complete'), used('s1'), used('s2')])
        expect(await statuses(store, ref)).toEqual({ c: 'complete' })
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 20, outputTokens: 2 })
        expect(await refusals(other, ref, [finish('run-1', 'cancelled')])).toEqual([false])
        expect(await refusals(store, ref, [finish('run-1')])).toEqual([true])
        expect((await runOf(store, ref))?.status).toBe('cancelled')
      },
      'two instances: sequences stay unique and without gaps when both write at once': async ({
        store,
        ref,
        reopen,
      }) => {
        const stores = [store, await reopen()] as const
        const by = (n: number) => stores[n % 2 ? 0 : 1]
        const sorted = (seqs: readonly number[]) => seqs.toSorted((a, b) => a - b)
        const threads = await Promise.all(upTo(20).map((n) => by(n).threads.open(anna(`t${n}`))))
        expect(sorted(threads.map(({ seq }) => seq))).toEqual(upTo(20))
        const token = await hold(store, ref)
        const runs = await Promise.all(upTo(20).map((n) => by(n).records.apply(ref, [start(`run-${n}`)])))
        expect(sorted(runs.map(([result]) => result?.seq ?? 0))).toEqual(upTo(20))
        const commits = await Promise.all(
          upTo(20).map((n) => by(n).threads.commit(ref, { messages: [said(`m${n}`)] }, token)),
        )
        expect(sorted(commits.map(({ version }) => version))).toEqual(upTo(20))
        expect((await store.threads.messages(ref)).map(({ seq }) => seq)).toEqual(upTo(20))
        const codes = await Promise.all(upTo(10).map((n) => codeOf(by(n).runLog.append(ref, 'run-1', 0, [n]))))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(await logged(store, ref)).toEqual([codes.indexOf(undefined) + 1])
      },
      'two instances: closing one leaves the other as it was': async ({ store, ref, reopen }) => {
        const other = await reopen()
        const token = await hold(store, ref)
        await store[Symbol.asyncDispose]()
        expect((await other.threads.commit(ref, { set: { a: 1 } }, token)).version).toBe(1)
      },
    },
  ),
  ...advised(
    'Tell followers what other instances wrote: by a notification of the database, or by looking every so often (`clock.after`), and read again from the last sequence they have shown.',
    {
      'two instances: a follower at one gets what the other appends, each once, and ends with the log': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1])
        const { signal } = new AbortController()
        const early = collect(store.runLog.follow(ref, 'run-1', { signal }))
        const follower = store.runLog.follow(ref, 'run-1', { after: 1, signal })[Symbol.asyncIterator]()
        const parked = follower.next()
        await other.runLog.append(ref, 'run-1', 1, [2])
        const { value } = await heard(clock, 'A waiting follower did not hear what the other instance appended', parked)
        expect(value).toEqual([{ seq: 2, event: 2 }])
        await store.runLog.append(ref, 'run-1', 2, [3])
        await other.runLog.append(ref, 'run-1', 3, [4], true)
        const seen = await heard(clock, 'A follower did not end with the log that the other instance closed', early)
        expect(seen).toEqual(upTo(4).map((n) => ({ seq: n, event: n })))
        await follower.return?.()
      },
      'two instances: a follower at one goes on in a log that the other compacts': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1, 2])
        const { signal } = new AbortController()
        const follower = store.runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]()
        expect((await follower.next()).value).toHaveLength(2)
        await other.runLog.append(ref, 'run-1', 2, [3, 4], true)
        const entries = [
          { seq: 1, event: 1 },
          { seq: 4, event: [2, 3, 4] },
        ]
        expect(await other.runLog.compact(ref, 'run-1', entries)).toBe(true)
        expect(await store.runLog.compact(ref, 'run-1', entries)).toBe(false)
        const { value } = await heard(
          clock,
          'A follower did not hear what the other instance compacted',
          follower.next(),
        )
        expect(value).toEqual(entries.slice(1))
        expect((await follower.next()).done).toBe(true)
      },
      'two instances: a follower at one ends when the other deletes the thread': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const other = await reopen()
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1])
        const { signal } = new AbortController()
        const parked = store.runLog.follow(ref, 'run-1', { after: 1, signal })[Symbol.asyncIterator]().next()
        await other.threads.delete(ref)
        const { done } = await heard(clock, 'A follower did not end with the thread the other instance deleted', parked)
        expect(done).toBe(true)
      },
    },
  ),
}
