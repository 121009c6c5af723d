import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, codeOf, hold, said, TTL, upTo } from './store-samples.ts'

/** What a store tells of a thread without reading it. */
export const knownClauses: StoreClauses = {
  ...advised('Look the ids up in the index of the messages of the thread, those that it shares with others too.', {
    'known says which ids messages of the thread have': async ({ store, ref }) => {
      expect(await store.threads.known?.(ref, ['m1'])).toEqual([])
      const token = await hold(store, ref)
      const messages = [...upTo(3).map((n) => said(`m${n}`)), said(AWKWARD)]
      await store.threads.commit(ref, { messages }, token)
      const known = async (ids: readonly string[], of = ref) =>
        [...((await store.threads.known?.(of, ids)) ?? [])].sort()
      expect(await known(['m2', 'x', 'm1', AWKWARD])).toEqual([AWKWARD, 'm1', 'm2'].sort())
      expect(await known(['m1', 'm1', 1 as never])).toEqual(['m1'])
      expect(await known([])).toEqual([])
      expect(await known([...upTo(1_200).map((n) => `x${n}`), 'm3'])).toEqual(['m3'])
      expect(await known(['m1'], anna('t2'))).toEqual([])
      expect(await known(['m1'], ben())).toEqual([])
      expect(await codeOf(store.threads.known?.(ref, 'm1' as never) as Promise<unknown>)).toBe('VALIDATION_FAILED')
    },
    'known says what a branch shares, and not what its source has got since': async ({ store, ref }) => {
      const token = await hold(store, ref)
      await store.threads.commit(ref, { messages: upTo(3).map((n) => said(`m${n}`)) }, token)
      const { ref: branch } = await store.threads.fork(ref, { at: 'm2', to: 't2' })
      const { token: other } = await store.leases.acquire(branch, { runId: 'run-2', ttlMs: TTL })
      await store.threads.commit(branch, { messages: [said('b1')] }, other)
      expect([...((await store.threads.known?.(branch, ['m1', 'm2', 'm3', 'b1'])) ?? [])].sort()).toEqual([
        'b1',
        'm1',
        'm2',
      ])
      expect(await store.threads.known?.(ref, ['b1', 'm3'])).toEqual(['m3'])
    },
  }),
  ...advised(
    'Note each run id that begins, in the step that takes the lease; say `fresh` if the id was not noted. When a thread is deleted, give the ids of the runs that a branch has messages of to that branch, and free the others.',
    {
      'a run is fresh if no run has begun with its id, and not when it begins again': async ({ store, clock, ref }) => {
        const freshness = async (runId: string, begins = true) => {
          const { token, fresh } = await store.leases.acquire(ref, { runId, ttlMs: TTL, begins })
          await store.leases.release(ref, token)
          return fresh
        }
        expect(await freshness('run-1', false)).toBeUndefined()
        expect(await freshness('run-1')).toBe(true)
        expect(await freshness('run-1')).toBeUndefined()
        await store.threads.open(ref)
        expect(await freshness('run-2')).toBe(true)
        expect(await freshness('run-2')).toBeUndefined()
        await store.leases.acquire(ref, { runId: 'run-3', ttlMs: TTL, begins: true })
        clock.advance(TTL)
        expect(await freshness('run-3')).toBeUndefined()
        expect(await freshness('outer/run-4')).toBe(true)
        expect(await freshness('outer/run-4')).toBeUndefined()
      },
      'the ids of runs with messages in a branch stay taken when their thread is deleted': async ({ store, ref }) => {
        await store.threads.open(ref)
        for (const id of ['run-1', 'run-2']) {
          const { token } = await store.leases.acquire(ref, { runId: id, ttlMs: TTL, begins: true })
          await store.threads.commit(ref, { messages: [{ ...said(`m-${id}`), runId: id }] }, token)
          await store.leases.release(ref, token)
        }
        const { ref: branch } = await store.threads.fork(ref, { at: 'm-run-1', to: 't2' })
        await store.threads.delete(ref)
        const begin = (runId: string, of: typeof ref) => store.leases.acquire(of, { runId, ttlMs: TTL, begins: true })
        expect(await codeOf(begin('run-1', anna('t3')))).toBe('RUN_ID_TAKEN')
        const { token, fresh } = await begin('run-1', branch)
        expect(fresh).toBeUndefined()
        await store.leases.release(branch, token)
        expect(await begin('run-2', anna('t3'))).toMatchObject({ fresh: true })
        await store.threads.delete(branch)
        expect(await begin('run-1', anna('t4'))).toMatchObject({ fresh: true })
      },
    },
  ),
}
