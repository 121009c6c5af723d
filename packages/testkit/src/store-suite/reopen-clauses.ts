import { KernelError, type Store } from '@troupe/kernel'
import { expect } from 'vitest'
import { demand, errorText } from '../fault.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import {
  AWKWARD,
  anna,
  begin,
  ben,
  call,
  codeOf,
  collect,
  finish,
  hold,
  logged,
  refusals,
  runOf,
  said,
  start,
  TTL,
  used,
} from './store-samples.ts'

const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: { turn: 2 } }

/** Everything that can be read of a thread. */
async function allOf(store: Store): Promise<unknown> {
  const ref = anna()
  return {
    thread: await store.threads.get(ref),
    threads: await store.threads.list(ref),
    messages: await store.threads.messages(ref),
    processed: await store.threads.processed(ref, ['p', 'q']),
    runs: await store.records.runs(ref),
    calls: await store.records.toolCalls(ref, 'run-1'),
    models: await store.records.modelCalls(ref, 'run-1'),
    usage: await store.records.usage(ref),
    journal: await store.journal.read(ref),
    grants: await store.grants.list(ref),
    counted: await store.counters?.add(ref, [{ name: AWKWARD, by: 0, expiresAt: 1e15 }]),
    facts: await store.facts?.list(ref),
    found: await store.facts?.search(ref, { text: 'likes tea', limit: 5 }),
    blob: await store.blobs?.get(ref, 'b1'),
    logs: [await logged(store, ref, 'run-1'), await logged(store, ref, 'run-2')],
    compacted: await collect(store.runLog.follow(ref, 'run-3', { signal: new AbortController().signal })),
  }
}

/** What is there after the store was closed and opened again. */
export const reopenClauses: StoreClauses = {
  ...advised(
    'Write every change to where the data is kept before its promise resolves, and read all of it when the store is opened: counters, leases, cancels and what was deleted, too.',
    {
      'closed and opened again, it has everything it had': async ({ store, ref, reopen }) => {
        const token = await hold(store, ref)
        const openCalls = [{ callId: 'call-1', name: 'weather', agentName: 'agent' }]
        const commit = { set: { text: AWKWARD, list: [null, 1.5, {}] }, openCalls, checkpoint, processed: ['p'] }
        await store.threads.commit(ref, { ...commit, messages: [said('m1', AWKWARD), said('m2')] }, token)
        await store.records.apply(ref, [
          start('run-1'),
          { type: 'run-text', runId: 'run-1', offset: 0, text: AWKWARD },
          call('call-1', 'complete', { result: { text: AWKWARD } }),
          used('s1', { reasoningTokens: 3 }),
          start('run-2', { parentRunId: 'run-1' }),
          finish('run-1', 'interrupted'),
        ])
        await store.runLog.append(ref, 'run-1', 0, [{ type: 'text-delta', delta: AWKWARD }, null], true)
        await store.runLog.append(ref, 'run-2', 0, ['open'])
        await store.runLog.append(ref, 'run-3', 0, ['a', 'b', 'c'], true)
        await store.runLog.compact(ref, 'run-3', [
          { seq: 2, event: AWKWARD },
          { seq: 3, event: ['c'] },
        ])
        await begin(store, ref, token, [{ text: AWKWARD }, null])
        await store.blobs?.put(ref, 'b1', AWKWARD)
        await store.journal.append(ref, 'run-1', [AWKWARD], token)
        for (const rule of ['a', 'b']) await store.grants.add(ref, { agent: '', tool: AWKWARD, rule, at: 1 })
        await store.grants.add(ref, { agent: 'a/b', tool: 'save', threadId: ref.threadId, at: 2 })
        const [revoked] = await store.grants.list(ref)
        await store.grants.revoke(ref, revoked?.id ?? '')
        await store.counters?.add(ref, [{ name: AWKWARD, by: 1.5, expiresAt: 1e15 }])
        for (const text of ['Likes tea.', AWKWARD, 'Has tea.']) await store.facts?.add(ref, { text, at: 1 })
        await store.facts?.forget(ref, [3])
        const before = await allOf(store)
        await store[Symbol.asyncDispose]()
        expect(await allOf(await reopen())).toEqual(before)
      },
      'closed and opened again, it goes on counting where it was': async ({ store, ref, reopen }) => {
        const token = await hold(store, ref)
        await store.threads.open(anna('t2'))
        await store.threads.commit(ref, { messages: [said('m1')] }, token)
        await store.records.apply(ref, [start('run-1')])
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        await store[Symbol.asyncDispose]()
        const again = await reopen()
        expect((await again.threads.open(anna('t3'))).seq).toBe(3)
        expect((await again.threads.commit(ref, { messages: [said('m1'), said('m2')] }, token)).version).toBe(2)
        expect((await again.threads.messages(ref)).map(({ seq, message }) => [seq, message.id])).toEqual([
          [1, 'm1'],
          [2, 'm2'],
        ])
        expect(await again.records.apply(ref, [start('run-2')])).toEqual([{ runId: 'run-2', seq: 2 }])
        expect(await codeOf(again.runLog.append(ref, 'run-1', 0, ['x']))).toBe('VERSION_CONFLICT')
        expect(await again.runLog.append(ref, 'run-1', 1, ['b'])).toBe(2)
      },
      'closed and opened again, a lease is held, known by its token, and runs out when it would have': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        await store.leases.requestCancel(ref, { mode: 'after-tools' })
        await store[Symbol.asyncDispose]()
        const again = await reopen()
        expect(await codeOf(again.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
        expect(await again.leases.renew(ref, token, TTL)).toEqual({ cancel: 'after-tools' })
        clock.advance(TTL)
        const { token: next } = await again.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(next).toBeGreaterThan(token)
        expect(await runOf(again, ref)).toMatchObject({ status: 'cancelled', error: { code: 'ABORTED' } })
        expect(await codeOf(again.threads.commit(ref, {}, token))).toBe('LEASE_LOST')
      },
      'closed and opened again, what was deleted, finished or released is still so': async ({ store, ref, reopen }) => {
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1'), finish('run-1')])
        await store.leases.release(ref, token)
        await store.threads.open(ben())
        await store.threads.delete(ben())
        await store[Symbol.asyncDispose]()
        const again = await reopen()
        expect(await again.threads.get(ben())).toBeUndefined()
        expect((await again.threads.get(ref))?.runId).toBeUndefined()
        expect(await refusals(again, ref, [finish('run-1', 'failed')])).toEqual([true])
        expect(await codeOf(again.threads.commit(ref, {}, token))).toBe('LEASE_LOST')
        expect(await hold(again, ref, 'run-2')).toBeGreaterThan(token)
      },
      'closed and opened again, a run that did not end is lost, and goes on under a new lease': async ({
        store,
        clock,
        ref,
        reopen,
      }) => {
        const former = await hold(store, ref)
        await store.records.apply(ref, [start('run-1')])
        await begin(store, ref, former, ['a'])
        clock.advance(10)
        await store.journal.append(ref, 'run-1', ['b'], former)
        const at = clock.now()
        await store[Symbol.asyncDispose]()
        const again = await reopen()
        const lost = () => again.journal.lost({ before: clock.now(), limit: 10 })
        expect(await lost()).toEqual([])
        clock.advance(TTL)
        expect(await lost()).toEqual([{ ref, runId: 'run-1', at }])
        const token = await hold(again, ref)
        expect(await codeOf(again.journal.append(ref, 'run-1', ['late'], former))).toBe('LEASE_LOST')
        await again.journal.append(ref, 'run-1', ['c'], token)
        expect(await again.journal.read(ref)).toEqual({ runId: 'run-1', entries: ['a', 'b', 'c'] })
        expect((await runOf(again, ref))?.status).toBe('generating')
      },
      'closed and opened again, a log is followed to its end': async ({ store, ref, reopen }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, ['a'])
        await store[Symbol.asyncDispose]()
        const again = await reopen()
        const { signal } = new AbortController()
        const seen = collect(again.runLog.follow(ref, 'run-1', { signal }))
        seen.catch(() => undefined)
        await again.runLog.append(ref, 'run-1', 1, ['b'], true)
        expect((await seen).map(({ event }) => event)).toEqual(['a', 'b'])
      },
    },
  ),
}

/** A store that one instance has to itself. */
export const exclusiveClauses: StoreClauses = {
  ...advised(
    "Refuse a second instance with a KernelError (STORE_BUSY) when it is opened or first used, or say keeps: 'for-many-instances' and let it see what the first writes.",
    {
      'while it is open, a second instance is refused and changes nothing': async ({ store, ref, reopen }) => {
        await store.threads.open(ref)
        const second = async () => {
          const other = await reopen()
          await other.threads.open(anna('t2'))
        }
        const error: unknown = await second().then(
          () => undefined,
          (error: unknown) => error,
        )
        demand(error !== undefined, 'A second instance was opened while the first was open, and wrote to the same data')
        demand(KernelError.is(error), `A second instance failed with ${errorText(error)}, which is not a KernelError`)
        expect(await store.threads.get(ref)).toBeDefined()
        await store[Symbol.asyncDispose]()
        expect((await (await reopen()).threads.list(ref)).map(({ ref }) => ref)).toEqual([ref])
      },
    },
  ),
}
