import type { JsonObject } from '@troupe/kernel'
import { expect } from 'vitest'
import { commitTo, forkAt, idsOf, say, stateAt, stateOf } from './fork-samples.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, codeOf, hold, said, upTo } from './store-samples.ts'

/** A message with what has changed in the state up to it. */
const changed = (id: string, set: JsonObject = {}, removed: readonly string[] = []) => ({
  ...said(id),
  changes: { set, removed },
})

/** Branches: the state and the processed ids as they were. */
export const forkStateClauses: StoreClauses = {
  ...advised(
    'Keep the changes of the state by message, not only the state: those of each message, then those of the commit, which count for the last message.',
    {
      'the state of a thread is that after all changes of a commit, in order': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const messages = [
          changed('m1', { a: 1, b: 1, c: 1 }),
          said('m2'),
          changed('m3', { b: 2 }, ['c']),
          changed('m4', { e: 1 }, ['e']),
        ]
        const { state } = await store.threads.commit(ref, { messages, set: { d: 1 }, removed: ['a'] }, token)
        expect(state).toEqual({ b: 2, d: 1 })
        expect(await stateOf(store, ref)).toEqual({ b: 2, d: 1 })
      },
      'the state of a branch is that after the message at the cut': async ({ store, ref }) => {
        const messages = [changed('m1', { a: 1, b: 1 }), said('m2'), changed('m3', { a: 2, c: [1] }, ['b'])]
        await commitTo(store, ref, { messages, set: { a: 3 } })
        await commitTo(store, ref, { messages: [changed('m4', { a: 4 }, ['c'])] })
        expect(await stateAt(store, ref, 'm1')).toEqual({ a: 1, b: 1 })
        expect(await stateAt(store, ref, 'm2')).toEqual({ a: 1, b: 1 })
        expect(await stateAt(store, ref, 'm3')).toEqual({ a: 3, c: [1] })
        expect(await stateAt(store, ref, 'm4')).toEqual({ a: 4 })
        const { state } = await store.threads.fork(ref, { before: 'm4', to: 'b' })
        expect(state).toEqual({ a: 3, c: [1] })
        expect(await stateOf(store, anna('b'))).toEqual(state)
      },
      'a commit without messages counts for the last message': async ({ store, ref }) => {
        await commitTo(store, ref, { set: { a: 0 } })
        await say(store, ref, 'm1')
        await commitTo(store, ref, { set: { a: 1, b: 1 } })
        await commitTo(store, ref, { set: { a: 2 }, removed: ['b'] })
        await say(store, ref, 'm2')
        await commitTo(store, ref, { set: { a: 3 } })
        expect((await store.threads.fork(ref, { before: 'm1', to: 'b' })).state).toEqual({ a: 0 })
        expect(await stateAt(store, ref, 'm1')).toEqual({ a: 2 })
        expect(await stateAt(store, ref, 'm2')).toEqual({ a: 3 })
      },
      'the changes of a message that the thread has count, after the others': async ({ store, ref }) => {
        await commitTo(store, ref, { messages: [changed('m1', { a: 1 }), changed('m2', { a: 2 })] })
        await commitTo(store, ref, { messages: [changed('m1', { b: 1 }), changed('m3', { c: 1 })] })
        expect(await stateOf(store, ref)).toEqual({ a: 2, b: 1, c: 1 })
        expect(await stateAt(store, ref, 'm1')).toEqual({ a: 1 })
        expect(await stateAt(store, ref, 'm2')).toEqual({ a: 2, b: 1 })
      },
      'a branch of a branch has the state of the thread it is made of, on both sides of a cut': async ({
        store,
        ref,
      }) => {
        const messages = [changed('a1', { n: 1, first: true }), changed('a2', { n: 2 }), changed('a3', { n: 3 })]
        await commitTo(store, ref, { messages })
        const b = await forkAt(store, ref, 'a2', 'b')
        await commitTo(store, b, { set: { n: 'b2' } })
        await commitTo(store, b, { messages: [changed('b3', { n: 'b3' }, ['first'])] })
        expect(await stateAt(store, b, 'a1')).toEqual({ n: 1, first: true })
        expect(await stateAt(store, b, 'a2')).toEqual({ n: 'b2', first: true })
        expect(await stateAt(store, b, 'b3')).toEqual({ n: 'b3' })
        const c = await forkAt(store, b, 'a2', 'c')
        await commitTo(store, c, { messages: [changed('c3', { own: true })] })
        expect(await stateAt(store, c, 'a1')).toEqual({ n: 1, first: true })
        expect(await stateAt(store, c, 'c3')).toEqual({ n: 'b2', first: true, own: true })
        expect(await stateAt(store, ref, 'a2')).toEqual({ n: 2, first: true })
      },
      'what source and branch change after the cut stays their own, also without a message': async ({ store, ref }) => {
        await commitTo(store, ref, { messages: [changed('m1', { a: 1 })] })
        const b = await forkAt(store, ref, 'm1', 'b')
        await commitTo(store, ref, { set: { a: 'source', source: true } })
        await commitTo(store, b, { set: { branch: true } })
        expect(await stateOf(store, ref)).toEqual({ a: 'source', source: true })
        expect(await stateOf(store, b)).toEqual({ a: 1, branch: true })
        expect(await stateAt(store, b, 'm1')).toEqual({ a: 1, branch: true })
        expect(await stateAt(store, ref, 'm1')).toEqual({ a: 'source', source: true })
      },
      'keys and values of every kind come back at every message': async ({ store, ref }) => {
        const long = 'k'.repeat(5000)
        const first = {
          [AWKWARD]: AWKWARD,
          '': null,
          [long]: [1, { a: [] }],
          [`${long}2`]: 0.1 + 0.2,
          '\u0001#': false,
        }
        await commitTo(store, ref, { messages: [changed('m1', first)] })
        await commitTo(store, ref, { messages: [changed('m2', {}, Object.keys(first))] })
        expect(await stateAt(store, ref, 'm1')).toEqual(first)
        expect(await stateOf(store, ref)).toEqual({})
        expect(await stateAt(store, ref, 'm2')).toEqual({})
      },
    },
  ),
  ...advised(
    'Keep with each processed id the message that it counts for: the one of the commit with this id, or the last one.',
    {
      'a branch has processed what was processed up to the cut, and its own': async ({ store, ref }) => {
        await commitTo(store, ref, { processed: ['p0'] })
        await commitTo(store, ref, { messages: [said('m1')], processed: ['p1'] })
        await commitTo(store, ref, { messages: [said('m2'), said('m3')], processed: ['p3', 'm2', 'p1'] })
        const ids = ['p0', 'p1', 'm2', 'p3', 'late', 'own']
        const none = (await store.threads.fork(ref, { before: 'm1', to: 'none' })).ref
        expect(await store.threads.processed(none, ids)).toEqual(['p0'])
        const b = await forkAt(store, ref, 'm2', 'b')
        expect(await store.threads.processed(b, ids)).toEqual(['p0', 'p1', 'm2'])
        const c = await forkAt(store, ref, 'm3', 'c')
        await commitTo(store, ref, { processed: ['late'] })
        await commitTo(store, c, { processed: ['own', 'p0'] })
        expect(await store.threads.processed(c, ids)).toEqual(['p0', 'p1', 'm2', 'p3', 'own'])
        expect(await store.threads.processed(ref, ids)).toEqual(['p0', 'p1', 'm2', 'p3', 'late'])
        const d = await forkAt(store, c, 'm1', 'd')
        expect(await store.threads.processed(d, ids)).toEqual(['p0', 'p1'])
      },
    },
  ),
  ...advised('Before a thread is deleted, give what its branches share to one of them; take the rest with it.', {
    'a deleted source leaves its branches complete': async ({ store, ref }) => {
      const messages = [changed('a1', { n: 1 }), changed('a2', { n: 2 }), changed('a3', { n: 3 })]
      await commitTo(store, ref, { messages, processed: ['a1', 'a2', 'p'] })
      const b = await forkAt(store, ref, 'a1', 'b')
      const c = await forkAt(store, ref, 'a2', 'c')
      await commitTo(store, b, { messages: [changed('b2', { n: 'b' })] })
      await commitTo(store, c, { messages: [changed('c3', { n: 'c' })] })
      expect(await store.threads.delete(ref)).toBe(true)
      const seqs = async (of = b) => (await store.threads.messages(of)).map(({ seq, message }) => [seq, message.id])
      expect(await seqs(b)).toEqual([
        [1, 'a1'],
        [2, 'b2'],
      ])
      expect(await seqs(c)).toEqual([
        [1, 'a1'],
        [2, 'a2'],
        [3, 'c3'],
      ])
      expect(await stateAt(store, b, 'a1')).toEqual({ n: 1 })
      expect(await stateAt(store, c, 'a1')).toEqual({ n: 1 })
      expect(await stateAt(store, c, 'a2')).toEqual({ n: 2 })
      expect(await store.threads.processed(b, ['a1', 'a2', 'p'])).toEqual(['a1'])
      expect(await store.threads.processed(c, ['a1', 'a2', 'p'])).toEqual(['a1', 'a2'])
      expect((await store.threads.get(c))?.forkedFrom).toEqual({ threadId: 'thread-1', messageId: 'a2' })
      await say(store, ref, 'new')
      expect(await seqs(ref)).toEqual([[1, 'new']])
      expect(await seqs(c)).toHaveLength(3)
    },
    'a deleted branch leaves its source and its own branches complete': async ({ store, ref }) => {
      await commitTo(store, ref, { messages: [changed('a1', { n: 1 }), changed('a2', { n: 2 })] })
      const b = await forkAt(store, ref, 'a1', 'b')
      await commitTo(store, b, { messages: [changed('b2', { n: 'b2' }), changed('b3', { n: 'b3' })] })
      const c = await forkAt(store, b, 'b2', 'c')
      const d = await forkAt(store, b, 'b3', 'd')
      await commitTo(store, d, { messages: [changed('d4', { n: 'd4' })] })
      await store.threads.delete(b)
      const ids = async (of = ref) => (await store.threads.messages(of)).map(({ message }) => message.id)
      expect(await ids(ref)).toEqual(['a1', 'a2'])
      expect(await ids(c)).toEqual(['a1', 'b2'])
      expect(await ids(d)).toEqual(['a1', 'b2', 'b3', 'd4'])
      await store.threads.delete(d)
      await store.threads.delete(ref)
      expect(await ids(c)).toEqual(['a1', 'b2'])
      expect(await stateAt(store, c, 'a1')).toEqual({ n: 1 })
      expect(await stateAt(store, c, 'b2')).toEqual({ n: 'b2' })
      await say(store, c, 'c3')
      expect(await ids(c)).toEqual(['a1', 'b2', 'c3'])
    },
    'a branch that is made while its source is deleted is complete, or is not made': async ({ store }) => {
      for (const n of upTo(10)) {
        const [source, b] = [anna(`a${n}`), anna(`b${n}`)]
        await commitTo(store, source, { messages: [changed('m1', { n: 1 }), changed('m2', { n: 2 }), said('m3')] })
        await forkAt(store, source, 'm3', b.threadId)
        const [made, ...others] = await Promise.all([
          codeOf(store.threads.fork(source, { at: 'm2', to: `c${n}` })),
          codeOf(store.threads.delete(source)),
          codeOf(say(store, b, 'own')),
          codeOf(store.threads.fork(b, { at: 'm2', to: `d${n}` })),
        ])
        expect([undefined, 'NOT_FOUND']).toContain(made)
        expect(others).toEqual([undefined, undefined, undefined])
        expect(await idsOf(store, b)).toEqual(['m1', 'm2', 'm3', 'own'])
        expect(await idsOf(store, anna(`c${n}`))).toEqual(made ? [] : ['m1', 'm2'])
        expect(await idsOf(store, anna(`d${n}`))).toEqual(['m1', 'm2'])
        expect(await stateAt(store, anna(`d${n}`), 'm1')).toEqual({ n: 1 })
      }
    },
    'the id of a deleted thread is free for a branch, which has nothing of it': async ({ store, ref }) => {
      await say(store, ref, 'm1')
      const b = await forkAt(store, ref, 'm1', 'b')
      await commitTo(store, b, { messages: [changed('old', { old: true })], processed: ['old'] })
      await store.threads.delete(b)
      const again = await store.threads.fork(ref, { at: 'm1', to: 'b' })
      expect([again.version, again.state]).toEqual([0, {}])
      expect((await store.threads.messages(b)).map(({ message }) => message.id)).toEqual(['m1'])
      expect(await store.threads.processed(b, ['old'])).toEqual([])
    },
  }),
}
