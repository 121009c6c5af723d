import type { Store, ThreadLabel, ThreadRef, ThreadSummary } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, codeOf, hold, said, summaryOf, upTo } from './store-samples.ts'

/** Titles and metadata of threads, and lists by the last change. */
export const labelClauses: StoreClauses = {
  ...advised(
    'Keep the title and the metadata of a thread in fields of their own that no commit writes: no lease, no version, no updatedAt. A branch begins with those of its source.',
    {
      'a title and metadata are in the thread and in every list': async ({ store, clock, ref }) => {
        const opened = await store.threads.open(ref)
        clock.advance(10)
        const metadata = { starred: true, tags: ['a', { deep: null }], text: AWKWARD }
        const summary = await label(store, ref, { title: AWKWARD, metadata })
        expect(summary).toEqual(await summaryOf(store, ref))
        expect(await store.threads.get(ref)).toEqual({ ...opened, title: AWKWARD, metadata })
        expect(await store.threads.list(ref)).toEqual([summary])
        expect(await store.threads.recent?.(ref)).toEqual([summary])
        expect(await store.threads.idle({ before: clock.now(), limit: 10 })).toEqual([summary])
      },
      'what a label does not name stays, and null removes it': async ({ store, ref }) => {
        await store.threads.open(ref)
        await label(store, ref, { title: 'x'.repeat(500), metadata: { a: 1, b: 2 } })
        await label(store, ref, { title: 'Trip' })
        await label(store, ref, { metadata: { b: 3 } })
        await label(store, ref, {})
        expect(await store.threads.get(ref)).toMatchObject({ title: 'Trip', metadata: { b: 3 } })
        expect((await store.threads.get(ref))?.metadata).toEqual({ b: 3 })
        await label(store, ref, { title: null })
        expect(await store.threads.get(ref)).not.toHaveProperty('title')
        await label(store, ref, { metadata: null })
        expect(await store.threads.get(ref)).not.toHaveProperty('metadata')
      },
      'a thread is labelled while a run holds it, and the commits of the run keep the label': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref)
        const { version } = await store.threads.commit(ref, { messages: [said('m1')] }, token)
        expect(await label(store, ref, { title: 'Trip', metadata: { a: 1 } })).toMatchObject({
          version,
          runId: 'run-1',
        })
        const after = await store.threads.commit(ref, { set: { a: 1 } }, token)
        expect(after).toMatchObject({ version: version + 1, title: 'Trip', metadata: { a: 1 } })
        expect(await store.threads.get(ref)).toEqual(after)
      },
      'a branch and what was cut off have the label, each its own': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { messages: upTo(2).map((n) => said(`m${n}`)) }, token)
        await label(store, ref, { title: 'Trip', metadata: { a: 1 } })
        expect(await store.threads.fork(ref, { at: 'm1', to: 't2' })).toMatchObject({
          title: 'Trip',
          metadata: { a: 1 },
        })
        await label(store, anna('t2'), { title: 'Other', metadata: null })
        expect(await store.threads.cut(ref, { at: 'm1', to: 't3' }, token)).toMatchObject({ title: 'Trip' })
        expect(await store.threads.get(anna('t3'))).toMatchObject({ title: 'Trip', metadata: { a: 1 } })
        expect((await store.threads.get(anna('t2')))?.title).toBe('Other')
      },
      'a thread that is not there cannot be labelled, and the label goes with its thread': async ({ store, ref }) => {
        expect(await codeOf(label(store, ref, { title: 'Trip' }))).toBe('NOT_FOUND')
        expect(await codeOf(label(store, ref, {}))).toBe('NOT_FOUND')
        await store.threads.open(ref)
        expect(await codeOf(label(store, ben(), { title: 'Trip' }))).toBe('NOT_FOUND')
        await label(store, ref, { title: 'Trip' })
        await store.threads.delete(ref)
        expect(await codeOf(label(store, ref, { title: 'Trip' }))).toBe('NOT_FOUND')
        expect(await store.threads.open(ref)).not.toHaveProperty('title')
      },
    },
  ),
  ...advised(
    'List threads by updatedAt, then by seq, both descending, in an index; begin after the values of the cursor.',
    {
      'recent lists the threads of an owner by their last change, page by page': async ({ store, clock }) => {
        for (const n of upTo(6)) {
          await store.threads.open(anna(`t${n}`))
          if (n % 2 === 0) clock.advance(10)
        }
        await store.threads.open(ben('t9'))
        const token = await hold(store, anna('t1'))
        await store.threads.commit(anna('t1'), { set: { a: 1 } }, token)
        const ids = async (page?: Parameters<NonNullable<Store['threads']['recent']>>[1]) =>
          ((await store.threads.recent?.(anna(), page)) ?? []).map(({ ref }) => ref.threadId)
        expect(await ids()).toEqual(['t1', 't6', 't5', 't4', 't3', 't2'])
        expect(await ids({ limit: 2 })).toEqual(['t1', 't6'])
        const walked: string[] = []
        let after: ThreadSummary | undefined
        do {
          const page = (await store.threads.recent?.(anna(), { limit: 1, ...(after && { after }) })) ?? []
          after = page[0]
          if (!after) break
          walked.push(after.ref.threadId)
          if (walked.length === 3) await store.threads.delete(anna('t5'))
        } while (walked.length < 10)
        expect(walked).toEqual(['t1', 't6', 't5', 't4', 't3', 't2'])
        expect(await store.threads.recent?.(ben())).toHaveLength(1)
      },
    },
  ),
}

async function label({ threads }: Store, ref: ThreadRef, given: ThreadLabel): Promise<ThreadSummary | undefined> {
  return threads.label?.(ref, given)
}
