import type { Json, JsonObject } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, codeOf, hold, said, TTL, upTo } from './store-samples.ts'

const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: { turn: 2 } }
const openCall = { callId: 'call-1', name: 'weather', agentName: 'agent' }

/** Conversations: opening, committing, reading, listing. */
export const threadClauses: StoreClauses = {
  ...advised(
    'Let open make the thread and its seq in one step (one transaction, or insert-or-nothing), and read what nobody opened as absent.',
    {
      'a thread nobody opened is undefined, without messages or processed ids': async ({ store, ref }) => {
        expect(await store.threads.get(ref)).toBeUndefined()
        expect(await store.threads.messages(ref)).toEqual([])
        expect(await store.threads.processed(ref, ['a'])).toEqual([])
        expect(await store.threads.list(ref)).toEqual([])
      },
      'open makes a thread with version 0, empty state and no open calls': async ({ store, clock, ref }) => {
        const thread = { ref, seq: 1, version: 0, waiting: false, state: {}, openCalls: [], updatedAt: clock.now() }
        expect(await store.threads.open(ref)).toEqual(thread)
        expect(await store.threads.get(ref)).toEqual(thread)
      },
      'open of a thread that is there changes nothing': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        const thread = await store.threads.commit(ref, { set: { a: 1 }, messages: [said('m1')] }, token)
        clock.advance(1)
        expect(await store.threads.open(ref)).toEqual(thread)
        expect(await store.threads.messages(ref)).toHaveLength(1)
      },
      'twenty opens at once make one thread': async ({ store, ref }) => {
        const threads = await Promise.all(upTo(20).map(() => store.threads.open(ref)))
        expect(new Set(threads.map(({ seq }) => seq))).toEqual(new Set([1]))
        expect(await store.threads.list(ref)).toHaveLength(1)
      },
      'threads opened at once get a gapless sequence': async ({ store, ref }) => {
        const threads = await Promise.all(upTo(20).map((n) => store.threads.open(anna(`t${n}`))))
        expect(threads.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(upTo(20))
        expect((await store.threads.list(ref)).map(({ seq }) => seq)).toEqual(upTo(20))
      },
      'each owner counts threads from 1': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect((await store.threads.open(ben())).seq).toBe(1)
        expect((await store.threads.open(anna('t2'))).seq).toBe(2)
      },
    },
  ),
  ...advised(
    'Check app, user and threadId in every method before anything else: non-empty text, else KernelError VALIDATION_FAILED.',
    {
      'a thread without an app, user or thread id is VALIDATION_FAILED': async ({ store, ref }) => {
        for (const bad of [{ app: '' }, { user: '' }, { threadId: '' }, { threadId: 7 as never }]) {
          const wrong = { ...ref, ...bad }
          expect(await codeOf(store.threads.get(wrong))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.open(wrong))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.commit(wrong, {}, 1))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.messages(wrong))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.processed(wrong, []))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.delete(wrong))).toBe('VALIDATION_FAILED')
        }
        expect(await codeOf(store.threads.list({ app: 'app', user: '' }))).toBe('VALIDATION_FAILED')
      },
    },
  ),
  ...advised(
    'Write state, version, messages, calls and processed ids of a commit in one transaction: set first, then remove, version plus one.',
    {
      'a commit raises the version by one and tells the time': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        for (const version of upTo(3)) {
          clock.advance(10)
          const thread = await store.threads.commit(ref, { set: { version }, messages: [said(`m${version}`)] }, token)
          expect(thread).toMatchObject({ version, updatedAt: clock.now() })
          expect(await store.threads.get(ref)).toEqual(thread)
        }
      },
      'a commit sets keys and leaves the others': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { set: { a: { x: 1 }, b: 2 } }, token)
        const { state } = await store.threads.commit(ref, { set: { a: { y: 1 } } }, token)
        expect(state).toEqual({ a: { y: 1 }, b: 2 })
      },
      'a commit removes after it sets': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { set: { a: 1, b: 2 } }, token)
        const { state } = await store.threads.commit(
          ref,
          { set: { b: 3, c: 4 }, removed: ['a', 'b', 'unknown'] },
          token,
        )
        expect(state).toEqual({ c: 4 })
      },
      'an empty commit leaves all but version and time': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const commit = { set: { a: 1 }, openCalls: [openCall], checkpoint, messages: [said('m1')], processed: ['p'] }
        const before = await store.threads.commit(ref, commit, token)
        expect(await store.threads.commit(ref, {}, token)).toEqual({ ...before, version: 2 })
        expect(await store.threads.messages(ref)).toHaveLength(1)
        expect(await store.threads.processed(ref, ['p'])).toEqual(['p'])
      },
    },
  ),
  ...advised(
    'Check the whole commit before the first write (`notJson` of the kernel, no prototype keys, ids that are not empty), and keep text as it is, NUL and lone surrogates too.',
    {
      'state keeps every kind of JSON value': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const set: JsonObject = {
          none: null,
          yes: true,
          numbers: [0, -1, 1.5, 1e21, 2 ** 53 - 1],
          nested: { a: [{ b: [] }, {}] },
          text: AWKWARD,
          '': 'empty key',
          'a.b/c': 1,
          toString: 1,
        }
        expect((await store.threads.commit(ref, { set }, token)).state).toEqual(set)
        expect((await store.threads.get(ref))?.state).toEqual(set)
      },
      'state keys that lead to a prototype are VALIDATION_FAILED and change nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        for (const key of ['__proto__', 'constructor', 'prototype']) {
          const set = JSON.parse(`{"ok":1,"${key}":{"polluted":true}}`)
          expect(await codeOf(store.threads.commit(ref, { set }, token))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.threads.commit(ref, { removed: [key] }, token))).toBe('VALIDATION_FAILED')
        }
        expect(await store.threads.get(ref)).toMatchObject({ version: 0, state: {} })
        expect((await store.threads.get(ref))?.state).toEqual({})
      },
      'a state value that is not JSON is VALIDATION_FAILED and changes nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY, new Date(0), () => 1, 1n, [undefined]]) {
          const commit = { set: { ok: 1, value: value as Json }, messages: [said('m1')], processed: ['p'] }
          expect(await codeOf(store.threads.commit(ref, commit, token))).toBe('VALIDATION_FAILED')
        }
        expect(await store.threads.get(ref)).toMatchObject({ version: 0 })
        expect((await store.threads.get(ref))?.state).toEqual({})
        expect(await store.threads.messages(ref)).toEqual([])
        expect(await store.threads.processed(ref, ['p'])).toEqual([])
      },
      'a message without an id or a run is VALIDATION_FAILED and changes nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        for (const wrong of [said(''), { ...said('m2'), runId: '' }]) {
          const commit = { set: { a: 1 }, messages: [said('m1'), wrong] }
          expect(await codeOf(store.threads.commit(ref, commit, token))).toBe('VALIDATION_FAILED')
        }
        const nameless = { set: { a: 1 }, processed: ['p', ''] }
        expect(await codeOf(store.threads.commit(ref, nameless, token))).toBe('VALIDATION_FAILED')
        expect(await store.threads.processed(ref, ['p', ''])).toEqual([])
        expect(await store.threads.messages(ref)).toEqual([])
        expect((await store.threads.get(ref))?.version).toBe(0)
      },
    },
  ),
  ...advised(
    'Number messages by thread without gaps, keep the first of an id, and keep what a commit leaves out as it was.',
    {
      'messages come back as they were, with their run, in commit order and without gaps': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const answer = {
          runId: 'run-2',
          message: {
            id: 'z',
            role: 'assistant',
            content: [{ type: 'text', text: AWKWARD }],
            toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city":' }],
          },
        } as const
        await store.threads.commit(ref, { messages: [said('y'), answer] }, token)
        await store.threads.commit(ref, { messages: [said('x')] }, token)
        expect(await store.threads.messages(ref)).toEqual([
          { seq: 1, ...said('y') },
          { seq: 2, ...answer },
          { seq: 3, ...said('x') },
        ])
      },
      'a message that is in the thread is not added again, nor changed': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: [said('m1'), said('m2')] }, token)
        await store.threads.commit(
          ref,
          { messages: [said('m1', 'changed'), said('m2'), said('m3'), said('m3')] },
          token,
        )
        const messages = await store.threads.messages(ref)
        expect(messages).toEqual(['m1', 'm2', 'm3'].map((id, i) => ({ seq: i + 1, ...said(id) })))
      },
      'the same message id in two threads is two messages': async ({ store, ref }) => {
        const first = await hold(store, ref)
        const second = await hold(store, anna('t2'), 'run-2')
        await store.threads.commit(ref, { messages: [said('m1', 'one')] }, first)
        await store.threads.commit(anna('t2'), { messages: [said('m1', 'two')] }, second)
        expect(await store.threads.messages(anna('t2'))).toEqual([{ seq: 1, ...said('m1', 'two') }])
      },
      'open calls are replaced as a whole': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { openCalls: [openCall] }, token)
        const other = { ...openCall, callId: 'call-2' }
        expect((await store.threads.commit(ref, { openCalls: [other] }, token)).openCalls).toEqual([other])
        expect((await store.threads.commit(ref, { openCalls: [] }, token)).openCalls).toEqual([])
      },
      'a checkpoint stays until null clears it': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { checkpoint }, token)
        expect((await store.threads.commit(ref, {}, token)).checkpoint).toEqual(checkpoint)
        expect((await store.threads.commit(ref, { checkpoint: null }, token)).checkpoint).toBeUndefined()
        expect((await store.threads.get(ref))?.checkpoint).toBeUndefined()
      },
      'processed ids add up and are answered in the order asked, once each': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { processed: ['a', 'b'] }, token)
        await store.threads.commit(ref, { processed: ['b', 'c'] }, token)
        expect(await store.threads.processed(ref, ['c', 'x', 'a', 'c'])).toEqual(['c', 'a'])
        expect(await store.threads.processed(ref, [])).toEqual([])
      },
    },
  ),
  ...advised(
    'Compare the token with the lease in the transaction of the commit: no lease or another token is LEASE_LOST, before NOT_FOUND.',
    {
      'a commit with a stale token is LEASE_LOST and changes nothing': async ({ store, clock, ref }) => {
        const stale = await hold(store, ref)
        clock.advance(TTL)
        const { token } = await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        const before = await store.threads.commit(ref, { set: { a: 1 } }, token)
        const late = { set: { a: 2 }, messages: [said('m1')], checkpoint, openCalls: [openCall], processed: ['p'] }
        for (const wrong of [stale, token + 1, 0, -1]) {
          expect(await codeOf(store.threads.commit(ref, late, wrong))).toBe('LEASE_LOST')
        }
        expect(await store.threads.get(ref)).toEqual(before)
        expect(await store.threads.messages(ref)).toEqual([])
        expect(await store.threads.processed(ref, ['p'])).toEqual([])
      },
      'a commit after release is LEASE_LOST': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.leases.release(ref, token)
        expect(await codeOf(store.threads.commit(ref, { set: { a: 1 } }, token))).toBe('LEASE_LOST')
        expect((await store.threads.get(ref))?.version).toBe(0)
      },
      'the token of one thread does not open another': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await hold(store, anna('t2'), 'run-2')
        expect(await codeOf(store.threads.commit(anna('t2'), { set: { a: 1 } }, token))).toBe('LEASE_LOST')
      },
      'an expired lease that nobody took may still commit': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        clock.advance(TTL * 2)
        expect((await store.threads.commit(ref, { set: { a: 1 } }, token)).state).toEqual({ a: 1 })
      },
      'a commit to a thread nobody opened is NOT_FOUND under its lease, LEASE_LOST without': async ({ store, ref }) => {
        expect(await codeOf(store.threads.commit(ref, {}, 1))).toBe('LEASE_LOST')
        const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        expect(await codeOf(store.threads.commit(ref, {}, token))).toBe('NOT_FOUND')
        expect(await store.threads.get(ref)).toBeUndefined()
        await store.threads.open(ref)
        expect((await store.threads.commit(ref, {}, token)).version).toBe(1)
      },
    },
  ),
  ...advised(
    'Let commits of one thread wait for each other, copy what comes in and goes out, and read the holder of the lease with the thread.',
    {
      'commits at once all arrive, one version and one sequence each': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const threads = await Promise.all(
          upTo(20).map((n) => store.threads.commit(ref, { set: { [`k${n}`]: n }, messages: [said(`m${n}`)] }, token)),
        )
        expect(threads.map(({ version }) => version).sort((a, b) => a - b)).toEqual(upTo(20))
        expect((await store.threads.messages(ref)).map(({ seq }) => seq)).toEqual(upTo(20))
        expect(Object.keys((await store.threads.get(ref))?.state ?? {})).toHaveLength(20)
      },
      'what a caller changes in its own objects does not reach the store': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const set: Record<string, number> = { a: 1 }
        const openCalls = [openCall]
        await store.threads.commit(ref, { set, openCalls }, token)
        set.a = 2
        openCalls.pop()
        const thread = await store.threads.get(ref)
        Object.assign(thread?.state ?? {}, { b: 3 })
        expect(await store.threads.get(ref)).toMatchObject({ state: { a: 1 }, openCalls: [openCall] })
        expect((await store.threads.get(ref))?.state).toEqual({ a: 1 })
      },
      'a thread tells the run that holds its lease, until release or expiry': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        expect((await store.threads.get(ref))?.runId).toBe('run-1')
        expect((await store.threads.list(ref))[0]?.runId).toBe('run-1')
        expect((await store.threads.open(ref)).runId).toBe('run-1')
        clock.advance(TTL)
        expect((await store.threads.get(ref))?.runId).toBeUndefined()
        await store.leases.renew(ref, token, TTL)
        expect((await store.threads.commit(ref, {}, token)).runId).toBe('run-1')
        await store.leases.release(ref, token)
        expect((await store.threads.get(ref))?.runId).toBeUndefined()
      },
    },
  ),
}
