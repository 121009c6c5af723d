import type { Json, Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, begin, ben, codeOf, entriesOf, hold, said, TTL, upTo } from './store-samples.ts'

const checkpoint = { format: 1, runId: 'run-1', agentName: 'agent', interrupts: [], state: null }

/** The run that a thread names as unfinished, wherever a store shows the thread. */
async function unfinishedIn({ threads }: Store, ref: ThreadRef, before: number): Promise<(string | undefined)[]> {
  const [listed] = await threads.list(ref)
  const [idle] = await threads.idle({ before, limit: 10 })
  return [await threads.get(ref), await threads.open(ref), listed, idle].map((thread) => thread?.unfinished)
}

/** The journal of the run that has not ended. */
export const journalClauses: StoreClauses = {
  ...advised(
    'Keep one journal for each thread. A commit with `journal` replaces it, one with null removes it, one without leaves it, all in its transaction; the thread names the run of its journal as `unfinished`.',
    {
      'a thread without a journal reads as undefined and names no unfinished run': async ({ store, ref }) => {
        expect(await store.journal.read(ref)).toBeUndefined()
        const token = await hold(store, ref)
        expect(await store.journal.read(ref)).toBeUndefined()
        expect(Object.keys(await store.threads.commit(ref, { journal: null }, token))).not.toContain('unfinished')
        expect(await store.journal.read(ref)).toBeUndefined()
        expect(await store.journal.lost({ before: 1e15, limit: 10 })).toEqual([])
      },
      'a thread names the run of its journal as unfinished, until a commit removes it': async ({
        store,
        clock,
        ref,
      }) => {
        const token = await hold(store, ref, 'run-2')
        expect((await begin(store, ref, token, [])).unfinished).toBe('run-1')
        clock.advance(TTL)
        expect(await unfinishedIn(store, ref, clock.now())).toEqual(['run-1', 'run-1', 'run-1', 'run-1'])
        const ended = await store.threads.commit(ref, { journal: null }, token)
        expect(Object.keys(ended)).not.toContain('unfinished')
        expect(await unfinishedIn(store, ref, clock.now() + 1)).toEqual(Array(4).fill(undefined))
        expect(await store.journal.read(ref)).toBeUndefined()
      },
      'a journal that begins takes the place of any other': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        await store.journal.append(ref, 'run-1', ['b'], token)
        await begin(store, ref, token, ['c'])
        expect(await store.journal.read(ref)).toEqual({ runId: 'run-1', entries: ['c'] })
        const next = await begin(store, ref, token, ['d'], 'run-2')
        expect(next.unfinished).toBe('run-2')
        expect(await store.journal.read(ref)).toEqual({ runId: 'run-2', entries: ['d'] })
        expect(await codeOf(store.journal.append(ref, 'run-1', ['e'], token))).toBe('NOT_FOUND')
      },
      'a journal may begin without entries': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, [])
        expect(await store.journal.read(ref)).toEqual({ runId: 'run-1', entries: [] })
        await store.leases.release(ref, token)
        const lost = await store.journal.lost({ before: clock.now() + 1, limit: 10 })
        expect(lost).toEqual([{ ref, runId: 'run-1', at: clock.now() }])
      },
      'a commit without a journal leaves it as it is': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        const commit = { set: { a: 1 }, messages: [said('m1')], openCalls: [], checkpoint, processed: ['p'] }
        expect((await store.threads.commit(ref, commit, token)).unfinished).toBe('run-1')
        expect(await store.journal.read(ref)).toEqual({ runId: 'run-1', entries: ['a'] })
      },
      'a journal begins and ends in the same commit as everything else': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const opened = await store.threads.commit(
          ref,
          { messages: [said('m1')], journal: { runId: 'run-1', entries: ['a'] } },
          token,
        )
        expect(opened).toMatchObject({ version: 1, unfinished: 'run-1' })
        expect((await store.threads.commit(ref, { messages: [said('m2')], journal: null }, token)).version).toBe(2)
        expect(await store.threads.messages(ref)).toHaveLength(2)
      },
      'a refused commit leaves the journal as it was': async ({ store, clock, ref }) => {
        const stale = await hold(store, ref)
        await begin(store, ref, stale, ['a'])
        clock.advance(TTL)
        const token = await hold(store, ref, 'run-2')
        for (const journal of [null, { runId: 'run-2', entries: ['late'] }]) {
          expect(await codeOf(store.threads.commit(ref, { journal }, stale))).toBe('LEASE_LOST')
          const malformed = { journal, set: { a: 1n as never } }
          expect(await codeOf(store.threads.commit(ref, malformed, token))).toBe('VALIDATION_FAILED')
        }
        expect(await store.journal.read(ref)).toEqual({ runId: 'run-1', entries: ['a'] })
        expect((await store.threads.get(ref))?.unfinished).toBe('run-1')
      },
    },
  ),
  ...advised('Keep each entry as it was, NUL and lone surrogates too, and copy the lists that come in and go out.', {
    'entries come back as they were': async ({ store, ref }) => {
      const token = await hold(store, ref)
      const entries: Json[] = [{ step: 'agent:1/model:0', text: AWKWARD }, null, [1, { a: [] }], AWKWARD, 0, '', false]
      await begin(store, ref, token, entries)
      await store.journal.append(ref, 'run-1', entries, token)
      expect(await store.journal.read(ref)).toEqual({ runId: 'run-1', entries: [...entries, ...entries] })
    },
    'entries come in the order they were written in': async ({ store, ref }) => {
      const token = await hold(store, ref)
      await begin(store, ref, token, ['z', 'y'])
      await store.journal.append(ref, 'run-1', ['x', 'b', 'a'], token)
      for (const n of upTo(30)) await store.journal.append(ref, 'run-1', [n], token)
      expect(await entriesOf(store, ref)).toEqual(['z', 'y', 'x', 'b', 'a', ...upTo(30)])
    },
    'an entry of a megabyte comes back as it was': async ({ store, ref }) => {
      const token = await hold(store, ref)
      const large = { text: '👩‍🚀\0é'.repeat(150_000) }
      await begin(store, ref, token, [large])
      await store.journal.append(ref, 'run-1', [large], token)
      expect(await entriesOf(store, ref)).toEqual([large, large])
    },
    'what a caller changes in its own lists does not reach the journal': async ({ store, ref }) => {
      const token = await hold(store, ref)
      const lists: Json[][] = [['a'], ['b']]
      const [first = [], second = []] = lists
      await begin(store, ref, token, first)
      await store.journal.append(ref, 'run-1', second, token)
      const seen = (await entriesOf(store, ref)) as Json[]
      for (const list of [first, second, seen]) list.push('changed')
      await store.journal.append(ref, 'run-1', ['c'], token)
      expect(seen).toEqual(['a', 'b', 'changed'])
      expect(await entriesOf(store, ref)).toEqual(['a', 'b', 'c'])
    },
  }),
  ...advised(
    'Append in one transaction that compares the token with the lease first (LEASE_LOST), then the run with that of the journal (NOT_FOUND), and does not touch the thread.',
    {
      'an append with a stale token is LEASE_LOST and writes nothing': async ({ store, clock, ref }) => {
        const stale = await hold(store, ref)
        await begin(store, ref, stale, ['a'])
        const other = await hold(store, anna('t2'), 'run-3')
        clock.advance(TTL)
        const token = await hold(store, ref, 'run-2')
        const append = (token: number) => codeOf(store.journal.append(ref, 'run-1', ['late'], token))
        for (const wrong of [stale, other, token + 1, 0, -1]) expect(await append(wrong)).toBe('LEASE_LOST')
        await store.leases.release(ref, token)
        expect(await append(token)).toBe('LEASE_LOST')
        expect(await entriesOf(store, ref)).toEqual(['a'])
      },
      'an append for a run that the journal does not belong to is NOT_FOUND, whichever run holds the lease': async ({
        store,
        ref,
      }) => {
        const token = await hold(store, ref, 'run-2')
        const append = (runId: string, entry: Json) => codeOf(store.journal.append(ref, runId, [entry], token))
        expect(await append('run-1', 'early')).toBe('NOT_FOUND')
        await begin(store, ref, token, ['a'])
        expect(await append('run-2', 'foreign')).toBe('NOT_FOUND')
        expect(await append('run-1', 'b')).toBeUndefined()
        expect(await entriesOf(store, ref)).toEqual(['a', 'b'])
        await store.threads.commit(ref, { journal: null }, token)
        expect(await append('run-1', 'late')).toBe('NOT_FOUND')
        expect(await store.journal.read(ref)).toBeUndefined()
      },
      'an append to a thread nobody opened is NOT_FOUND under its lease, LEASE_LOST without': async ({
        store,
        ref,
      }) => {
        expect(await codeOf(store.journal.append(ref, 'run-1', ['a'], 1))).toBe('LEASE_LOST')
        const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        expect(await codeOf(store.journal.append(ref, 'run-1', ['a'], token))).toBe('NOT_FOUND')
        expect(await store.threads.get(ref)).toBeUndefined()
      },
      'an append of no entries is refused like any other': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        await store.journal.append(ref, 'run-1', [], token)
        expect(await codeOf(store.journal.append(ref, 'run-1', [], token + 1))).toBe('LEASE_LOST')
        expect(await codeOf(store.journal.append(ref, 'run-2', [], token))).toBe('NOT_FOUND')
        expect(await entriesOf(store, ref)).toEqual(['a'])
      },
      'an append leaves the thread as it was, version and time too': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        const thread = await begin(store, ref, token, ['a'])
        clock.advance(10)
        await store.journal.append(ref, 'run-1', ['b'], token)
        expect(await store.threads.get(ref)).toEqual(thread)
      },
      'an append under an expired lease that nobody took is kept': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        clock.advance(TTL * 2)
        await store.journal.append(ref, 'run-1', ['b'], token)
        expect(await entriesOf(store, ref)).toEqual(['a', 'b'])
      },
      'appends at once all arrive, each whole': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, [])
        await Promise.all(upTo(20).map((n) => store.journal.append(ref, 'run-1', [n, -n], token)))
        const entries = (await entriesOf(store, ref)) as number[]
        const pairs = upTo(20).map((_, i) => entries.slice(2 * i, 2 * i + 2))
        expect(pairs.toSorted(([a = 0], [b = 0]) => a - b)).toEqual(upTo(20).map((n) => [n, -n]))
      },
      'journals of two threads are apart': async ({ store, ref }) => {
        const [first, second] = [await hold(store, ref), await hold(store, anna('t2'))]
        await begin(store, ref, first, ['one'])
        await begin(store, anna('t2'), second, ['two'])
        await store.journal.append(anna('t2'), 'run-1', ['more'], second)
        await store.threads.commit(ref, { journal: null }, first)
        expect(await store.journal.read(ref)).toBeUndefined()
        expect(await entriesOf(store, anna('t2'))).toEqual(['two', 'more'])
      },
    },
  ),
  ...advised(
    'Find journals of all owners whose last write (a beginning or an append) was before the time and whose thread has no lease that counts, oldest first.',
    {
      'lost finds runs of all owners whose journal was not written since, oldest first, at most limit': async ({
        store,
        clock,
      }) => {
        const began = clock.now()
        const tokens: number[] = []
        for (const [n, ref] of [anna('b'), ben('a'), anna('c')].entries()) {
          tokens.push(await hold(store, ref, `run-${n}`))
          await begin(store, ref, tokens[n] ?? 0, ['a'], `run-${n}`)
          clock.advance(10)
        }
        await store.journal.append(anna('b'), 'run-0', ['b'], tokens[0] ?? 0)
        await store.threads.open(anna('quiet'))
        clock.advance(TTL)
        const lost = (before: number, limit = 10) => store.journal.lost({ before, limit })
        const all = [
          { ref: ben('a'), runId: 'run-1', at: began + 10 },
          { ref: anna('c'), runId: 'run-2', at: began + 20 },
          { ref: anna('b'), runId: 'run-0', at: began + 30 },
        ]
        expect(await lost(clock.now())).toEqual(all)
        expect(await lost(clock.now(), 2)).toEqual(all.slice(0, 2))
        expect(await lost(began + 20)).toEqual(all.slice(0, 1))
        expect(await lost(began + 10)).toEqual([])
      },
      'lost leaves out a run whose thread is held, by whichever run, until the lease ends': async ({
        store,
        clock,
        ref,
      }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        const lost = async () => (await store.journal.lost({ before: clock.now() + 1, limit: 10 })).length
        clock.advance(TTL - 1)
        expect(await lost()).toBe(0)
        clock.advance(1)
        expect(await lost()).toBe(1)
        const next = await hold(store, ref, 'run-2')
        expect(await lost()).toBe(0)
        await store.leases.release(ref, next)
        expect(await lost()).toBe(1)
      },
      'lost does not find a run whose journal was removed': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        await store.threads.commit(ref, { journal: null }, token)
        await store.leases.release(ref, token)
        expect(await store.journal.lost({ before: clock.now() + 1, limit: 10 })).toEqual([])
      },
    },
  ),
}
