import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, call, codeOf, finish, hold, refusals, runOf, said, start, statuses, TTL } from './store-samples.ts'

/** What becomes of the run whose lease another takes over. */
export const takeOverClauses: StoreClauses = {
  ...advised(
    'When acquire replaces an expired lease of another run, finish that run and the runs inside it as failed with LEASE_LOST, or as cancelled with ABORTED if a cancel was asked, and their running calls as unknown, in the same transaction, and nothing else. A run that takes its own lease again goes on, and a run whose end is in the thread (it has the last message, and no journal) has ended: its record may come late.',
    {
      'taking over finishes the former run as failed with LEASE_LOST': async ({ store, clock, ref }) => {
        await hold(store, ref)
        await store.records.apply(ref, [start('run-1'), { type: 'run-text', runId: 'run-1', offset: 0, text: 'half' }])
        clock.advance(TTL + 5)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(await runOf(store, ref)).toMatchObject({
          status: 'failed',
          text: 'half',
          error: { code: 'LEASE_LOST', message: expect.any(String) },
          endedAt: clock.now(),
        })
        expect(await refusals(store, ref, [finish('run-1')])).toEqual([true])
      },
      'taking over finishes a former run that was asked to stop as cancelled': async ({ store, clock, ref }) => {
        await hold(store, ref)
        await store.records.apply(ref, [start('run-1'), start('run-1/a', { parentRunId: 'run-1' })])
        await store.leases.requestCancel(ref, { runId: 'run-1' })
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        const ended = { status: 'cancelled', error: { code: 'ABORTED' }, endedAt: clock.now() }
        expect(await store.records.runs(ref)).toMatchObject([ended, ended])
      },
      'taking over finishes nested runs at every depth': async ({ store, clock, ref }) => {
        await hold(store, ref)
        const nested = [
          start('run-1/a/b', { parentRunId: 'run-1/a' }),
          start('run-1/a', { parentRunId: 'run-1' }),
          start('run-1/a/b/c', { parentRunId: 'run-1/a/b' }),
        ]
        await store.records.apply(ref, [...nested, start('run-1'), finish('run-1/a')])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        const runs = await store.records.runs(ref)
        const ends = Object.fromEntries(runs.map(({ runId, status, error }) => [runId, error?.code ?? status]))
        expect(ends).toEqual({
          'run-1': 'LEASE_LOST',
          'run-1/a': 'complete',
          'run-1/a/b': 'LEASE_LOST',
          'run-1/a/b/c': 'LEASE_LOST',
        })
      },
      'taking over leaves no call running: its outcome is unknown, and a late result is refused': async ({
        store,
        clock,
        ref,
      }) => {
        await hold(store, ref)
        await store.records.apply(ref, [
          start('run-1'),
          start('run-1/a', { parentRunId: 'run-1' }),
          start('run-3'),
          call('lost', 'running'),
          call('nested', 'running', { runId: 'run-1/a' }),
          call('done', 'complete', { result: { content: 'Sunny.' } }),
          call('asks', 'awaiting'),
          call('other', 'running', { runId: 'run-3' }),
        ])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(await statuses(store, ref)).toEqual({ lost: 'unknown', done: 'complete', asks: 'awaiting' })
        expect(await statuses(store, ref, 'run-1/a')).toEqual({ nested: 'unknown' })
        expect(await statuses(store, ref, 'run-3')).toEqual({ other: 'running' })
        const [lost] = await store.records.toolCalls(ref, 'run-1')
        expect(lost).toMatchObject({ result: { content: UNKNOWN_RESULT }, endedAt: clock.now() })
        expect(await refusals(store, ref, [call('lost', 'complete')])).toEqual([true])
      },
      'a run that takes its own expired lease again goes on: its records stay open, and its old token is lost': async ({
        store,
        clock,
        ref,
      }) => {
        const former = await hold(store, ref)
        await store.records.apply(ref, [
          start('run-1'),
          start('run-1/a', { parentRunId: 'run-1' }),
          call('c', 'running'),
          call('nested', 'running', { runId: 'run-1/a' }),
        ])
        clock.advance(TTL)
        const token = await hold(store, ref)
        expect(token).toBeGreaterThan(former)
        expect((await store.records.runs(ref)).map(({ status }) => status)).toEqual(['generating', 'generating'])
        expect(await statuses(store, ref)).toEqual({ c: 'running' })
        expect(await statuses(store, ref, 'run-1/a')).toEqual({ nested: 'running' })
        expect(await codeOf(store.threads.commit(ref, {}, former))).toBe('LEASE_LOST')
        expect(await refusals(store, ref, [call('c', 'complete'), finish('run-1')])).toEqual([false, false])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await runOf(store, ref, 'run-1/a'))?.status).toBe('failed')
      },
      'taking over leaves a run alone whose end is in the thread, so that its record may come late': async ({
        store,
        clock,
        ref,
      }) => {
        const token = await hold(store, ref)
        await store.threads.commit(
          ref,
          { messages: [said('m1')], journal: { runId: 'run-1', entries: ['asked'] } },
          token,
        )
        await store.threads.commit(ref, { messages: [said('m2')], journal: null }, token)
        await store.records.apply(ref, [start('run-1'), call('c', 'running')])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await runOf(store, ref))?.status).toBe('generating')
        expect(await refusals(store, ref, [call('c', 'complete'), finish('run-1')])).toEqual([false, false])
      },
      'taking over finishes a run as failed that has stored its beginning alone': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(
          ref,
          { messages: [said('m1')], journal: { runId: 'run-1', entries: ['asked'] } },
          token,
        )
        await store.records.apply(ref, [start('run-1')])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await runOf(store, ref))?.error?.code).toBe('LEASE_LOST')
      },
      'taking over leaves other runs and finished ones alone': async ({ store, clock, ref }) => {
        await hold(store, ref)
        await store.threads.open(anna('t2'))
        const foreign = start('run-4', { parentRunId: 'run-1' })
        await store.records.apply(anna('t2'), [foreign])
        await store.records.apply(ref, [start('run-1'), finish('run-1'), start('run-3'), start('run-10')])
        const before = await store.records.runs(ref)
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(await store.records.runs(ref)).toEqual(before)
        expect((await runOf(store, anna('t2'), 'run-4'))?.status).toBe('generating')
      },
      'a circle of parents does not hang a take-over': async ({ store, clock, ref }) => {
        await hold(store, ref)
        await store.records.apply(ref, [start('run-1', { parentRunId: 'x' }), start('x', { parentRunId: 'run-1' })])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await store.records.runs(ref)).map(({ status }) => status)).toEqual(['failed', 'failed'])
      },
      'a lease after a release finishes nobody’s run': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        await store.leases.release(ref, token)
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await runOf(store, ref))?.status).toBe('generating')
      },
      'a refused take-over finishes nobody’s run': async ({ store, ref }) => {
        await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))
        expect((await runOf(store, ref))?.status).toBe('generating')
      },
    },
  ),
}
