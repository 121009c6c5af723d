import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { codeOf, hold, said, TTL } from './store-samples.ts'

const LAST = { messages: [said('m1')], set: { a: 1 }, openCalls: [], checkpoint: null, journal: null } as const

/** Commits that release the lease. */
export const releaseClauses: StoreClauses = {
  ...advised(
    'Delete the lease in the transaction of a commit with `release`. Without the lease, let such a commit succeed only if hasCommit() of @troupe/kernel/store says that the thread has it.',
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
      'without its lease a commit of anything that the thread does not have is LEASE_LOST and changes nothing': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        const first = await store.threads.commit(ref, { ...LAST, release: true }, token)
        const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: null }
        for (const other of [
          { messages: [said('m1', 'other words')] },
          { messages: [said('m1'), said('m2')] },
          { messages: [] },
          { set: { a: 2 } },
          { set: {}, removed: ['a'] },
          { openCalls: [{ callId: 'c', name: 'n', agentName: 'agent' }] },
          { checkpoint },
          { journal: { runId: 'run-1', entries: [] } },
        ]) {
          expect(await codeOf(store.threads.commit(ref, { ...LAST, ...other, release: true }, token))).toBe(
            'LEASE_LOST',
          )
        }
        expect(await codeOf(store.threads.commit(ref, LAST, token))).toBe('LEASE_LOST')
        expect(await store.threads.get(ref)).toEqual(first)
      },
    },
  ),
}
