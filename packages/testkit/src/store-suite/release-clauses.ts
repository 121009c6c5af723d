import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { codeOf, hold, said, TTL } from './store-samples.ts'

const LAST = { messages: [said('m1')], set: { a: 1 }, openCalls: [], checkpoint: null, journal: null } as const

/** Commits that release the lease. */
export const releaseClauses: StoreClauses = {
  ...advised(
    'Delete the lease in the transaction of a commit with `release`, and keep its token with the thread. Without the lease, let such a commit give the thread only if that token is its own.',
    {
      'a commit that releases its lease frees the thread at once, and its token is worth nothing any more': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        const thread = await store.threads.commit(ref, { ...LAST, release: true }, token)
        expect(thread).toMatchObject({ version: 1, state: { a: 1 } })
        expect(thread.runId).toBeUndefined()
        expect(await store.threads.get(ref)).toEqual(thread)
        expect(await codeOf(store.leases.renew(ref, token, TTL))).toBe('LEASE_LOST')
        expect(await codeOf(store.threads.commit(ref, { set: { b: 1 } }, token))).toBe('LEASE_LOST')
        const { token: next } = await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(next).not.toBe(token)
      },
      'a commit that is refused releases nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        expect(await codeOf(store.threads.commit(ref, { set: { a: 1n as never }, release: true }, token))).toBe(
          'VALIDATION_FAILED',
        )
        expect((await store.threads.get(ref))?.runId).toBe('run-1')
        expect(await store.threads.commit(ref, { set: { a: 1 } }, token)).toMatchObject({ runId: 'run-1' })
      },
      'a commit that has released its lease may be repeated and changes nothing, whoever holds the thread by then':
        async ({ store, ref }) => {
          const token = await hold(store, ref)
          const first = await store.threads.commit(ref, { ...LAST, release: true }, token)
          expect(await store.threads.commit(ref, { ...LAST, release: true }, token)).toEqual(first)
          await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
          const again = await store.threads.commit(ref, { ...LAST, release: true }, token)
          expect(again).toEqual({ ...first, runId: 'run-2' })
          expect(await store.threads.messages(ref)).toHaveLength(1)
          expect((await store.threads.get(ref))?.runId).toBe('run-2')
        },
      'without its lease a commit that has not released it is LEASE_LOST and changes nothing': async ({
        store,
        clock,
        ref,
      }) => {
        const stale = await hold(store, ref)
        clock.advance(TTL)
        const { token } = await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        // Another process has finished the run with the same messages, so only the token tells whose commit it was.
        const first = await store.threads.commit(ref, { ...LAST, release: true }, token)
        expect(await codeOf(store.threads.commit(ref, { ...LAST, release: true }, stale))).toBe('LEASE_LOST')
        expect(await codeOf(store.threads.commit(ref, LAST, token))).toBe('LEASE_LOST')
        expect(await store.threads.get(ref)).toEqual(first)
        const { token: next } = await store.leases.acquire(ref, { runId: 'run-3', ttlMs: TTL })
        const last = await store.threads.commit(ref, { messages: [said('m2')], release: true }, next)
        expect(await codeOf(store.threads.commit(ref, { ...LAST, release: true }, token))).toBe('LEASE_LOST')
        expect(await store.threads.get(ref)).toEqual(last)
      },
    },
  ),
}
