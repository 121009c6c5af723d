import type { BlobStore, Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { commitTo, forkAt, say } from './fork-samples.ts'
import { NOT_IDS } from './malformed-calls.ts'
import { advised, type StoreClauses, type StoreSetup } from './store-clauses.ts'
import { AWKWARD, anna, ben, codeOf, hold, said, upTo } from './store-samples.ts'

type BlobSetup = StoreSetup & { readonly blobs: BlobStore }

/** A clause with the large texts of the store, which has them. */
function ofBlobs(check: (setup: BlobSetup) => Promise<void>): (setup: StoreSetup) => Promise<void> {
  return (setup) => check({ ...setup, blobs: setup.store.blobs as BlobStore })
}

/** Says a message and writes a text after it. */
async function sayAndPut(store: Store, ref: ThreadRef, messageId: string): Promise<void> {
  await say(store, ref, messageId)
  await store.blobs?.put(ref, `after ${messageId}`, `text after ${messageId}`)
}

/** Large texts of threads. */
export const blobClauses: StoreClauses = {
  ...advised('Keep texts by thread and id, as they are; the last one of an id counts.', {
    'a text is read as it was written': ofBlobs(async ({ store, ref, blobs }) => {
      await store.threads.open(ref)
      const texts = { b1: 'text', [AWKWARD]: AWKWARD, empty: '', long: `${AWKWARD}x`.repeat(2_000) }
      for (const [id, text] of Object.entries(texts)) await blobs.put(ref, id, text)
      for (const [id, text] of Object.entries(texts)) expect(await blobs.get(ref, id)).toBe(text)
      expect(await blobs.get(ref, 'b2')).toBeUndefined()
    }),
    'the last text of an id counts, also of several at once': ofBlobs(async ({ store, ref, blobs }) => {
      await store.threads.open(ref)
      for (const text of ['a', 'b']) await blobs.put(ref, 'b1', text)
      expect(await blobs.get(ref, 'b1')).toBe('b')
      await Promise.all(upTo(5).map((n) => blobs.put(ref, 'b1', `${n}`)))
      expect(upTo(5).map(String)).toContain(await blobs.get(ref, 'b1'))
    }),
    'a text changes nothing in its thread': ofBlobs(async ({ store, ref, clock, blobs }) => {
      await say(store, ref, 'm1')
      const before = await store.threads.get(ref)
      clock.advance(1_000)
      await blobs.put(ref, 'b1', 'text')
      expect(await store.threads.get(ref)).toEqual(before)
    }),
  }),
  ...advised('Let a text hang on its thread: it needs the thread, it is deleted with it, and nobody else sees it.', {
    'a text for a thread that is not there is NOT_FOUND, also when it was deleted': ofBlobs(
      async ({ store, ref, blobs }) => {
        expect(await codeOf(blobs.put(ref, 'b1', 'text'))).toBe('NOT_FOUND')
        expect(await blobs.get(ref, 'b1')).toBeUndefined()
        await store.threads.open(ref)
        await store.threads.delete(ref)
        expect(await codeOf(blobs.put(ref, 'b1', 'text'))).toBe('NOT_FOUND')
        expect(await store.threads.get(ref)).toBeUndefined()
      },
    ),
    'a deleted thread takes its texts with it, and no others': ofBlobs(async ({ store, ref, blobs }) => {
      for (const one of [ref, anna('t2')]) {
        await store.threads.open(one)
        await blobs.put(one, 'b1', one.threadId)
      }
      await store.threads.delete(ref)
      await store.threads.open(ref)
      expect(await blobs.get(ref, 'b1')).toBeUndefined()
      expect(await blobs.get(anna('t2'), 'b1')).toBe('t2')
    }),
    'texts of another thread and of another owner are not seen': ofBlobs(async ({ store, ref, blobs }) => {
      const others = [anna('t2'), ben(), { ...ref, app: 'other' }]
      for (const one of [ref, ...others]) await store.threads.open(one)
      await blobs.put(ref, 'b1', 'text')
      for (const other of others) expect(await blobs.get(other, 'b1')).toBeUndefined()
      await blobs.put(ben(), 'b1', 'of ben')
      expect(await blobs.get(ref, 'b1')).toBe('text')
    }),
  }),
  ...advised(
    'Note with each text which message was the last one. A branch reads the texts from before the last message that it shares; when its source is deleted, leave these to it.',
    {
      'a branch reads the texts from before the last message that it shares': ofBlobs(async ({ store, ref, blobs }) => {
        for (const id of ['m1', 'm2', 'm3']) await sayAndPut(store, ref, id)
        const branch = await forkAt(store, ref, 'm2')
        await blobs.put(ref, 'late', 'of the source')
        await blobs.put(branch, 'own', 'of the branch')
        const of = (one: ThreadRef) =>
          Promise.all(['after m1', 'after m2', 'after m3', 'late', 'own'].map((id) => blobs.get(one, id)))
        expect(await of(branch)).toEqual(['text after m1', undefined, undefined, undefined, 'of the branch'])
        const inSource = ['text after m1', 'text after m2', 'text after m3', 'of the source', undefined]
        expect(await of(ref)).toEqual(inSource)
      }),
      'a branch and its source write texts of the same id each for itself': ofBlobs(async ({ store, ref, blobs }) => {
        await sayAndPut(store, ref, 'm1')
        await say(store, ref, 'm2')
        const branch = await forkAt(store, ref, 'm2')
        await blobs.put(branch, 'after m1', 'of the branch')
        await blobs.put(branch, 'b1', 'of the branch')
        await blobs.put(ref, 'b1', 'of the source')
        expect(await blobs.get(ref, 'after m1')).toBe('text after m1')
        expect(await blobs.get(branch, 'after m1')).toBe('of the branch')
        await store.threads.delete(ref)
        expect(await blobs.get(branch, 'after m1')).toBe('of the branch')
        expect(await blobs.get(branch, 'b1')).toBe('of the branch')
      }),
      'a branch reads a text as it was before the last message that it shares': ofBlobs(
        async ({ store, ref, blobs }) => {
          for (const id of ['m1', 'm2', 'm3']) {
            await say(store, ref, id)
            await blobs.put(ref, 'b1', `after ${id}`)
          }
          const branches = await Promise.all(['m1', 'm2', 'm3'].map((at) => forkAt(store, ref, at, `at ${at}`)))
          await blobs.put(ref, 'b1', 'later')
          await blobs.put(branches[1] as ThreadRef, 'b1', 'of the branch')
          const read = () => Promise.all([...branches, ref].map((one) => blobs.get(one, 'b1')))
          expect(await read()).toEqual([undefined, 'of the branch', 'after m2', 'later'])
          await store.threads.delete(ref)
          expect(await read()).toEqual([undefined, 'of the branch', 'after m2', undefined])
          await store.threads.delete(branches[2] as ThreadRef)
          expect((await read())[1]).toBe('of the branch')
        },
      ),
      'what branches share stays when their source is deleted, and goes with the last of them': ofBlobs(
        async ({ store, ref, blobs }) => {
          for (const id of ['m1', 'm2', 'm3']) await sayAndPut(store, ref, id)
          const short = await forkAt(store, ref, 'm2', 'short')
          const long = await forkAt(store, ref, 'm3', 'long')
          await store.threads.delete(ref)
          const of = (one: ThreadRef) =>
            Promise.all(['after m1', 'after m2', 'after m3'].map((id) => blobs.get(one, id)))
          expect(await of(short)).toEqual(['text after m1', undefined, undefined])
          expect(await of(long)).toEqual(['text after m1', 'text after m2', undefined])
          await store.threads.delete(long)
          expect(await of(short)).toEqual(['text after m1', undefined, undefined])
          await store.threads.delete(short)
          await store.threads.open(short)
          expect(await of(short)).toEqual([undefined, undefined, undefined])
        },
      ),
      'a branch of a branch reads what all of them share': ofBlobs(async ({ store, ref, blobs }) => {
        await sayAndPut(store, ref, 'm1')
        await sayAndPut(store, ref, 'm2')
        const branch = await forkAt(store, ref, 'm2', 'branch')
        await commitTo(store, branch, { messages: [said('b1')] })
        await blobs.put(branch, 'in branch', 'text')
        await commitTo(store, branch, { messages: [said('b2')] })
        const second = await forkAt(store, branch, 'b2', 'second')
        for (const gone of [undefined, ref, branch]) {
          if (gone) await store.threads.delete(gone)
          expect(await blobs.get(second, 'after m1')).toBe('text after m1')
          expect(await blobs.get(second, 'in branch')).toBe('text')
        }
      }),
      'a cut thread reads what it shares, and the other name has all': ofBlobs(async ({ store, ref, blobs }) => {
        for (const id of ['m1', 'm2', 'm3']) await sayAndPut(store, ref, id)
        const token = await hold(store, ref)
        await store.threads.cut(ref, { at: 'm2', to: 'old' }, token)
        expect(await blobs.get(ref, 'after m1')).toBe('text after m1')
        expect(await blobs.get(ref, 'after m2')).toBeUndefined()
        expect(await blobs.get(anna('old'), 'after m3')).toBe('text after m3')
        await store.threads.delete(anna('old'))
        expect(await blobs.get(ref, 'after m1')).toBe('text after m1')
      }),
    },
  ),
  ...advised('Check the arguments first: `checkRef`, `checkId` and `checkBlob` of @troupe/kernel/store do it.', {
    'a malformed id or text is VALIDATION_FAILED and changes nothing': ofBlobs(async ({ store, ref, blobs }) => {
      await store.threads.open(ref)
      await blobs.put(ref, 'b1', 'text')
      for (const id of NOT_IDS as readonly string[]) {
        expect(await codeOf(blobs.put(ref, id, 'other'))).toBe('VALIDATION_FAILED')
        expect(await codeOf(blobs.get(ref, id))).toBe('VALIDATION_FAILED')
        expect(await codeOf(blobs.put({ ...ref, threadId: id }, 'b1', 'other'))).toBe('VALIDATION_FAILED')
        expect(await codeOf(blobs.get({ ...ref, user: id }, 'b1'))).toBe('VALIDATION_FAILED')
      }
      for (const text of [undefined, null, 7, {}] as unknown[] as string[]) {
        expect(await codeOf(blobs.put(ref, 'b1', text))).toBe('VALIDATION_FAILED')
      }
      expect(await blobs.get(ref, 'b1')).toBe('text')
    }),
    'texts of a disposed store are STORE_CLOSED': ofBlobs(async ({ store, ref, blobs }) => {
      await store.threads.open(ref)
      await store[Symbol.asyncDispose]()
      expect(await codeOf(blobs.put(ref, 'b1', 'text'))).toBe('STORE_CLOSED')
      expect(await codeOf(blobs.get(ref, 'b1'))).toBe('STORE_CLOSED')
    }),
  }),
}
