import type { Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, begin, ben, call, finish, hold, start, statuses, textAt, upTo, used } from './store-samples.ts'

/** What maintenance finds page by page, and what it deletes. */
export const retentionClauses: StoreClauses = {
  ...advised(
    'Order idle threads by updatedAt, then by anything that is the same in each call, and begin after the cursor by this order, without looking it up.',
    {
      'idle goes on after a thread, also if others changed at the same time': async ({ store, clock }) => {
        for (const n of upTo(7)) {
          await store.threads.open(n % 2 ? anna(`t${n}`) : ben(`t${n}`))
          if (n === 3) clock.advance(10)
        }
        clock.advance(10)
        expect((await walked(store, clock.now(), 2)).sort()).toEqual(upTo(7).map((n) => `t${n}`))
        expect((await walked(store, clock.now() - 10, 2)).sort()).toEqual(['t1', 't2', 't3'])
      },
      'idle goes on after a thread that is gone or has changed': async ({ store, clock }) => {
        for (const n of upTo(6)) await store.threads.open(anna(`t${n}`))
        clock.advance(10)
        const seen: string[] = []
        const visit = async (ref: ThreadRef) => {
          seen.push(ref.threadId)
          if (seen.length % 2 === 0) await store.threads.delete(ref)
          else await store.threads.commit(ref, {}, await hold(store, ref))
        }
        await walked(store, clock.now(), 1, visit)
        expect(seen.sort()).toEqual(upTo(6).map((n) => `t${n}`))
      },
    },
  ),
  ...advised(
    'Delete runs with an endedAt before the time, with their texts, tool calls and model calls, oldest first, up to `limit`; leave those of a thread with a journal, and those with a call that is running, awaiting or interrupted. Keep counting seq.',
    {
      'prune deletes runs that ended before a time with all they have, oldest first, up to a limit': async ({
        store,
        ref,
      }) => {
        await store.threads.open(ref)
        await store.threads.open(ben())
        for (const [of, runId, endedAt] of [
          [ref, 'run-1', 30],
          [ben(), 'run-2', 10],
          [ref, 'run-3', 20],
        ] as const) {
          await store.records.apply(of, [
            start(runId),
            textAt(0, 'Hello', runId),
            call(`${runId}-c`, 'complete', { runId }),
            used(`${runId}-s`, {}, runId),
            { ...finish(runId), endedAt } as never,
          ])
        }
        await store.records.apply(ref, [start('run-4')])
        const prune = (before: number, limit = 10) => store.records.prune?.({ before, limit })
        const left = async () => (await store.records.runs(ref)).map(({ runId }) => runId)
        expect(await prune(10)).toBe(0)
        expect(await prune(31, 1)).toBe(1)
        expect(await store.records.runs(ben())).toEqual([])
        expect(await left()).toEqual(['run-1', 'run-3', 'run-4'])
        expect(await prune(30)).toBe(1)
        expect(await left()).toEqual(['run-1', 'run-4'])
        expect(await store.records.toolCalls(ref, 'run-3')).toEqual([])
        expect(await store.records.modelCalls(ref, 'run-3')).toEqual([])
        expect(await store.records.usage(ref)).toMatchObject({ inputTokens: 10 })
        expect(await store.records.toolCalls(ref, 'run-1')).toHaveLength(1)
        expect(await prune(Number.MAX_SAFE_INTEGER)).toBe(1)
        expect(await left()).toEqual(['run-4'])
        expect(await store.records.apply(ref, [start('run-5')])).toEqual([{ runId: 'run-5', seq: 4 }])
        expect(await store.threads.get(ref)).toBeDefined()
      },
      'prune leaves runs with open calls, and those of a thread with an unfinished run': async ({ store, ref }) => {
        for (const status of ['running', 'awaiting', 'interrupted'] as const) {
          const of = anna(status)
          await store.threads.open(of)
          await store.records.apply(of, [start(status), call(status, status, { runId: status }), finish(status)])
        }
        const token = await hold(store, ref)
        await store.records.apply(ref, [start('run-1'), finish('run-1')])
        await begin(store, ref, token, [])
        const prune = () => store.records.prune?.({ before: 100, limit: 10 })
        expect(await prune()).toBe(0)
        await store.threads.commit(ref, { journal: null }, token)
        await store.records.apply(anna('awaiting'), [call('awaiting', 'complete', { runId: 'awaiting' })])
        expect(await prune()).toBe(2)
        expect(await statuses(store, anna('interrupted'), 'interrupted')).toEqual({ interrupted: 'interrupted' })
      },
      'prune leaves the runs of other apps, if it is for some': async ({ store, ref }) => {
        const other = { ...ref, app: 'other' }
        for (const one of [ref, other]) {
          await store.threads.open(one)
          await store.records.apply(one, [start('run-1'), finish('run-1')])
        }
        const prune = (apps: readonly string[]) => store.records.prune?.({ before: 100, limit: 10, apps })
        expect(await prune([])).toBe(0)
        expect(await prune(['else', 'other'])).toBe(1)
        expect(await store.records.runs(ref)).toHaveLength(1)
        expect(await store.records.runs(other)).toEqual([])
      },
    },
  ),
}

/** The ids of all idle threads, read page by page; each is visited before the next page is read. */
async function walked(
  { threads }: Store,
  before: number,
  limit: number,
  visit: (ref: ThreadRef) => Promise<void> = async () => {},
): Promise<string[]> {
  const ids: string[] = []
  let page = await threads.idle({ before, limit })
  while (page.length > 0 && ids.length < 100) {
    for (const { ref } of page) {
      ids.push(ref.threadId)
      await visit(ref)
    }
    const after = page.at(-1)
    page = await threads.idle({ before, limit, ...(after && { after }) })
  }
  return ids
}
