import { KernelError } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, begin, ben, codeOf, hold, said, TTL, upTo } from './store-samples.ts'

/** Who may write to a thread. */
export const leaseClauses: StoreClauses = {
  ...advised(
    'A store may give the thread with the lease, to save its holder a round trip: exactly as `get` gives it then, or null if there is none. Leave it out if you cannot be sure.',
    {
      'a thread that comes with a lease is as get gives it': async ({ store, ref }) => {
        for (const runId of ['run-1', 'run-2', 'run-3']) {
          const { token, thread } = await store.leases.acquire(ref, { runId, ttlMs: TTL, begins: true })
          if (thread !== undefined) expect(thread ?? undefined).toEqual(await store.threads.get(ref))
          await store.threads.open(ref)
          await store.threads.commit(ref, { set: { runId }, messages: [said(`m-${runId}`)], release: true }, token)
        }
      },
    },
  ),
  ...advised(
    'A holder that comes again takes the live lease of its own run, never that of another one: the token before is over, and the cancel that was asked stays.',
    {
      'a run that comes again takes its live lease, and the process before has lost it': async ({ store, ref }) => {
        await store.threads.open(ref)
        const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, begins: true })
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL }))).toBe('THREAD_BUSY')
        await store.leases.requestCancel(ref, { mode: 'after-tools' })
        const taken = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, again: true })
        expect(taken).toMatchObject({ cancel: 'after-tools' })
        expect(await codeOf(store.leases.renew(ref, token, TTL))).toBe('LEASE_LOST')
        expect(await codeOf(store.threads.commit(ref, { set: { old: true } }, token))).toBe('LEASE_LOST')
        expect((await store.threads.commit(ref, { set: { fresh: true } }, taken.token)).state).toEqual({ fresh: true })
        expect(await store.leases.renew(ref, taken.token, TTL)).toEqual({ cancel: 'after-tools' })
      },
      'a run that comes again does not take the lease of another run, and gets a free one': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const again = { runId: 'run-2', ttlMs: TTL, again: true }
        expect(await codeOf(store.leases.acquire(ref, again))).toBe('THREAD_BUSY')
        await store.leases.release(ref, token)
        expect(await codeOf(store.leases.acquire(ref, again))).toBeUndefined()
      },
    },
  ),
  ...advised(
    'Keep the id of each run that begins (a holder with begins: true) with its owner and thread, in the step that takes the lease; refuse it with RUN_ID_TAKEN in another thread, and wherever another run has an id above or below it (`runIdsAbove` of @troupe/kernel/store), and forget it with its thread.',
    {
      'a run cannot begin with an id that its owner has used in another thread': async ({ store, ref }) => {
        const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, begins: true })
        const elsewhere = () => codeOf(store.leases.acquire(anna('t2'), { runId: 'run-1', ttlMs: TTL, begins: true }))
        expect(await elsewhere()).toBe('RUN_ID_TAKEN')
        await store.leases.release(ref, token)
        expect(await elsewhere()).toBe('RUN_ID_TAKEN')
        expect((await store.threads.open(anna('t2'))).runId).toBeUndefined()
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, begins: true }))).toBeUndefined()
      },
      'of ten threads in which a run begins with one id one gets it': async ({ store }) => {
        const want = (n: number) =>
          codeOf(store.leases.acquire(anna(`t${n}`), { runId: 'run-1', ttlMs: TTL, begins: true }))
        const codes = await Promise.all(upTo(10).map(want))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(codes.filter((code) => code === 'RUN_ID_TAKEN')).toHaveLength(9)
      },
      'a run cannot begin with an id that a nested run of another one has, nor with that of a run around one': async ({
        store,
        ref,
      }) => {
        const begin = (runId: string, threadId: string = ref.threadId) =>
          codeOf(
            store.leases
              .acquire(anna(threadId), { runId, ttlMs: TTL, begins: true })
              .then(({ token }) => store.leases.release(anna(threadId), token)),
          )
        for (const id of ['r', 'a/b/c', '/', '/x/y', AWKWARD]) expect([id, await begin(id)]).toEqual([id, undefined])
        const taken = ['r/tool:0:0', 'r/', 'r//', 'r/\0', 'a', 'a/b', 'a/b/c/d', '//', '/x', '/x/y/z', `${AWKWARD}/z`]
        for (const id of taken) {
          for (const threadId of [ref.threadId, 't2'])
            expect([id, await begin(id, threadId)]).toEqual([id, 'RUN_ID_TAKEN'])
        }
        for (const id of ['r', 'a/b/c']) expect([id, await begin(id)]).toEqual([id, undefined])
        for (const id of ['rr', 'r.2', 'r0', 'R/x', 'a/b0', 'a/bb', 'a/b/d', 'a/c', 'x/y', 'a/b/c0']) {
          expect([id, await begin(id, 't2')]).toEqual([id, undefined])
        }
        expect(await codeOf(store.leases.acquire(ben(), { runId: 'r/x', ttlMs: TTL, begins: true }))).toBeUndefined()
        await store.threads.open(ref)
        await store.threads.delete(ref)
        for (const id of ['r/x', 'a/b/c/d', '/x']) expect([id, await begin(id)]).toEqual([id, undefined])
        expect([await begin('a'), await begin('a/b')]).toEqual(['RUN_ID_TAKEN', 'RUN_ID_TAKEN'])
        await store.threads.open(anna('t2'))
        await store.threads.delete(anna('t2'))
        expect([await begin('a'), await begin('x')]).toEqual(['RUN_ID_TAKEN', undefined])
      },
      'of two runs that begin at once, one with an id in the other’s, one gets it': async ({ store }) => {
        const want = (runId: string, n: number, i: number) =>
          codeOf(store.leases.acquire(anna(`t${n}-${i}`), { runId, ttlMs: TTL, begins: true }))
        for (const n of upTo(5)) {
          const ids = [`r${n}`, `r${n}/a`, `r${n}/a/b`, `p/${n}`, `p/${n}/a`]
          const codes = await Promise.all(ids.map((id, i) => want(id, n, i)))
          const got = ids.filter((_, i) => codes[i] === undefined)
          expect(got.filter((id) => id.startsWith('r'))).toHaveLength(1)
          expect(got.filter((id) => id.startsWith('p'))).toHaveLength(1)
        }
      },
      'a run that did not get its thread has not used its id': async ({ store, ref }) => {
        await hold(store, ref, 'other')
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, begins: true }))).toBe(
          'THREAD_BUSY',
        )
        const elsewhere = store.leases.acquire(anna('t2'), { runId: 'run-1', ttlMs: TTL, begins: true })
        expect(await codeOf(elsewhere)).toBeUndefined()
      },
      'owners, holders that do not begin, and deleted threads do not keep an id': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL, begins: true })
        const bob = { ...ref, user: `${ref.user}-other` }
        expect(await codeOf(store.leases.acquire(bob, { runId: 'run-1', ttlMs: TTL, begins: true }))).toBeUndefined()
        const { token } = await store.leases.acquire(anna('t2'), { runId: 'run-1', ttlMs: TTL })
        await store.leases.release(anna('t2'), token)
        await store.threads.delete(ref)
        const again = store.leases.acquire(anna('t2'), { runId: 'run-1', ttlMs: TTL, begins: true })
        expect(await codeOf(again)).toBeUndefined()
      },
    },
  ),
  ...advised(
    'Take a lease in one step: if one is held (expiresAt later than clock.now()), fail with THREAD_BUSY, retryable, details { runId, expiresAt }; draw tokens from one counter that never goes back.',
    {
      'a held thread is THREAD_BUSY, retryable, and tells who holds it until when': async ({ store, clock, ref }) => {
        await hold(store, ref)
        const expiresAt = clock.now() + TTL
        clock.advance(TTL - 1)
        const error = await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }).catch((error: unknown) => error)
        expect(KernelError.is(error, 'THREAD_BUSY')).toBe(true)
        expect(error).toMatchObject({ retryable: true, details: { runId: 'run-1', expiresAt } })
      },
      'the holder itself cannot take its lease twice': async ({ store, ref }) => {
        await hold(store, ref)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL }))).toBe('THREAD_BUSY')
      },
      'of ten that want a free thread one gets it': async ({ store, ref }) => {
        const want = (n: number) => codeOf(store.leases.acquire(ref, { runId: `run-${n}`, ttlMs: TTL }))
        const codes = await Promise.all(upTo(10).map(want))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect(codes.filter((code) => code === 'THREAD_BUSY')).toHaveLength(9)
      },
      'of ten that take over an expired lease one gets it': async ({ store, clock, ref }) => {
        await hold(store, ref, 'run-0')
        clock.advance(TTL)
        const want = (n: number) => codeOf(store.leases.acquire(ref, { runId: `run-${n}`, ttlMs: TTL }))
        const codes = await Promise.all(upTo(10).map(want))
        expect(codes.filter((code) => code === undefined)).toHaveLength(1)
        expect((await store.threads.get(ref))?.runId).toBe(`run-${codes.indexOf(undefined) + 1}`)
      },
      'a lease may come before its thread': async ({ store, ref }) => {
        const { token } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        expect(await store.threads.get(ref)).toBeUndefined()
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
        expect((await store.threads.open(ref)).runId).toBe('run-1')
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
      },
      'leases of two threads do not know each other': async ({ store, ref }) => {
        const first = await hold(store, ref)
        const second = await hold(store, anna('t2'), 'run-2')
        expect(second).not.toBe(first)
        await store.leases.release(anna('t2'), first)
        expect(await codeOf(store.leases.renew(anna('t2'), first, TTL))).toBe('LEASE_LOST')
        expect(await store.leases.renew(anna('t2'), second, TTL)).toEqual({})
      },
      'tokens only grow, over all threads': async ({ store, clock, ref }) => {
        const tokens: number[] = []
        for (const n of upTo(6)) {
          const thread = n % 2 ? ref : anna('t2')
          tokens.push(await hold(store, thread, `run-${n}`))
          if (n % 3 === 0) await store.threads.delete(thread)
          else if (n % 3 === 1) await store.leases.release(thread, tokens.at(-1) ?? 0)
          else clock.advance(TTL)
        }
        expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b))
      },
    },
  ),
  ...advised(
    'Compare the token when you renew or release: renew sets expiresAt to clock.now() + ttlMs and is LEASE_LOST for another token, release with another token does nothing.',
    {
      'a renewed lease counts from the renewal': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        clock.advance(TTL - 1)
        await store.leases.renew(ref, token, TTL)
        clock.advance(TTL - 1)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
        clock.advance(1)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBeUndefined()
      },
      'leases that are renewed at once are each renewed for their own thread and owner': async ({ store, clock }) => {
        const held = await Promise.all(
          upTo(5).map(async (n) => ({ ref: anna(`t${n}`), token: await hold(store, anna(`t${n}`), `run-${n}`) })),
        )
        clock.advance(TTL - 1)
        const [first, second, ...others] = held.map(({ token }) => token)
        const codes = await Promise.all([
          codeOf(store.leases.renew(anna('t2'), first ?? 0, TTL)),
          codeOf(store.leases.renew(ben('t2'), second ?? 0, TTL)),
          ...others.map((token, i) => codeOf(store.leases.renew(anna(`t${i + 3}`), token, TTL))),
          codeOf(store.leases.renew(anna('t5'), -1, TTL)),
        ])
        expect(codes).toEqual(['LEASE_LOST', 'LEASE_LOST', undefined, undefined, undefined, 'LEASE_LOST'])
        clock.advance(1)
        const take = ({ ref }: (typeof held)[number]) =>
          codeOf(store.leases.acquire(ref, { runId: 'next', ttlMs: TTL }))
        const taken: (string | undefined)[] = []
        for (const one of held) taken.push(await take(one))
        expect(taken).toEqual([undefined, undefined, 'THREAD_BUSY', 'THREAD_BUSY', 'THREAD_BUSY'])
      },
      'a renewal may shorten a lease': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        await store.leases.renew(ref, token, 10)
        clock.advance(10)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBeUndefined()
      },
      'an expired lease that nobody took can be renewed': async ({ store, clock, ref }) => {
        const token = await hold(store, ref)
        clock.advance(TTL * 3)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
      },
      'renewing a lease that is taken, released or never was is LEASE_LOST': async ({ store, clock, ref }) => {
        expect(await codeOf(store.leases.renew(ref, 1, TTL))).toBe('LEASE_LOST')
        const first = await hold(store, ref)
        clock.advance(TTL)
        const second = await hold(store, ref, 'run-2')
        expect(await codeOf(store.leases.renew(ref, first, TTL * 9))).toBe('LEASE_LOST')
        await store.leases.release(ref, second)
        expect(await codeOf(store.leases.renew(ref, second, TTL))).toBe('LEASE_LOST')
        expect((await store.threads.get(ref))?.runId).toBeUndefined()
      },
      'release frees the thread, twice does no harm': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.leases.release(ref, token)
        const next = await hold(store, ref, 'run-2')
        await store.leases.release(ref, token)
        expect(await store.leases.renew(ref, next, TTL)).toEqual({})
      },
      'release with a wrong token changes nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.leases.release(ref, token + 1)
        await store.leases.release(anna('unknown'), token)
        expect(await codeOf(store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL }))).toBe('THREAD_BUSY')
      },
    },
  ),
  ...advised(
    'Keep the hardest cancel with the lease, give it out with each renewal, and keep it from the next holder; without a holder, or for another runId, it is false.',
    {
      'a cancel reaches the holder with each renewal, now by default': async ({ store, ref }) => {
        const token = await hold(store, ref)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
        expect(await store.leases.requestCancel(ref, {})).toBe(true)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({ cancel: 'now' })
        expect(await store.leases.renew(ref, token, TTL)).toEqual({ cancel: 'now' })
      },
      'a harder cancel replaces a softer one, never the reverse': async ({ store, ref }) => {
        const token = await hold(store, ref)
        const cancel = async (mode: 'now' | 'after-model' | 'after-tools') => {
          expect(await store.leases.requestCancel(ref, { mode })).toBe(true)
          return (await store.leases.renew(ref, token, TTL)).cancel
        }
        expect(await cancel('after-tools')).toBe('after-tools')
        expect(await cancel('after-model')).toBe('after-model')
        expect(await cancel('after-tools')).toBe('after-model')
        expect(await cancel('now')).toBe('now')
        expect(await cancel('after-model')).toBe('now')
      },
      'a cancel meant for another run is false and does nothing': async ({ store, ref }) => {
        const token = await hold(store, ref)
        expect(await store.leases.requestCancel(ref, { runId: 'run-0' })).toBe(false)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
        expect(await store.leases.requestCancel(ref, { runId: 'run-1', mode: 'after-tools' })).toBe(true)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({ cancel: 'after-tools' })
      },
      'a cancel where nothing runs is false': async ({ store, clock, ref }) => {
        expect(await store.leases.requestCancel(ref, {})).toBe(false)
        const token = await hold(store, ref)
        clock.advance(TTL)
        expect(await store.leases.requestCancel(ref, { runId: 'run-1' })).toBe(false)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
        await store.leases.release(ref, token)
        expect(await store.leases.requestCancel(ref, {})).toBe(false)
      },
      'a cancel does not reach the next holder': async ({ store, clock, ref }) => {
        const first = await hold(store, ref)
        await store.leases.requestCancel(ref, {})
        await store.leases.release(ref, first)
        const second = await hold(store, ref, 'run-2')
        expect(await store.leases.renew(ref, second, TTL)).toEqual({})
        await store.leases.requestCancel(ref, {})
        clock.advance(TTL)
        const third = await hold(store, ref, 'run-3')
        expect(await store.leases.renew(ref, third, TTL)).toEqual({})
      },
    },
  ),
  ...advised(
    'Keep the cancel of a run with a journal as long as the journal: acquire returns it to that run, and renew gives it out again.',
    {
      'a run that takes its own expired lease again gets the cancel that was asked of it': async ({
        store,
        clock,
        ref,
      }) => {
        const former = await hold(store, ref)
        await begin(store, ref, former, ['asked'])
        await store.leases.requestCancel(ref, { mode: 'after-model' })
        clock.advance(TTL)
        const { token, cancel } = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        expect(cancel).toBe('after-model')
        expect(await store.leases.renew(ref, token, TTL)).toEqual({ cancel: 'after-model' })
        expect(await store.leases.requestCancel(ref, {})).toBe(true)
        clock.advance(TTL)
        expect(await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })).toMatchObject({ cancel: 'now' })
      },
      'a cancel that came before the journal counts too': async ({ store, clock, ref }) => {
        const former = await hold(store, ref)
        await store.leases.requestCancel(ref, {})
        await begin(store, ref, former, ['asked'])
        clock.advance(TTL)
        expect(await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })).toMatchObject({ cancel: 'now' })
      },
      'a cancel is kept while others hold the thread, and does not reach them': async ({ store, clock, ref }) => {
        const former = await hold(store, ref)
        await begin(store, ref, former, ['asked'])
        await store.leases.requestCancel(ref, {})
        clock.advance(TTL)
        const other = await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect(other).toEqual({ token: other.token })
        expect(await store.leases.renew(ref, other.token, TTL)).toEqual({})
        await store.leases.release(ref, other.token)
        const again = await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })
        expect(again).toEqual({ token: again.token, cancel: 'now' })
        await store.leases.release(ref, again.token)
        expect(await store.leases.acquire(ref, { runId: 'run-1', ttlMs: TTL })).toMatchObject({ cancel: 'now' })
      },
      'a cancel goes with the journal': async ({ store, ref }) => {
        const acquire = async (runId: string) => {
          const lease = await store.leases.acquire(ref, { runId, ttlMs: TTL })
          expect(lease).toEqual({ token: lease.token })
          return lease.token
        }
        const former = await hold(store, ref)
        await begin(store, ref, former, ['asked'])
        await store.leases.requestCancel(ref, {})
        await store.threads.commit(ref, { journal: null }, former)
        await store.leases.release(ref, former)
        const token = await acquire('run-1')
        await begin(store, ref, token, ['asked'])
        await store.leases.release(ref, token)
        await store.leases.release(ref, await acquire('run-1'))
        const next = await acquire('run-2')
        await begin(store, ref, next, ['asked'], 'run-2')
        await store.leases.release(ref, next)
        await acquire('run-2')
      },
    },
  ),
  ...advised(
    'Check names, ttlMs (a finite number above 0) and the cancel mode before anything else: VALIDATION_FAILED.',
    {
      'a lease without sound names, time or cancel mode is VALIDATION_FAILED and changes nothing': async ({
        store,
        ref,
      }) => {
        for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '10' as never]) {
          expect(await codeOf(store.leases.acquire(ref, { runId: 'run-1', ttlMs }))).toBe('VALIDATION_FAILED')
        }
        expect(await codeOf(store.leases.acquire(ref, { runId: '', ttlMs: TTL }))).toBe('VALIDATION_FAILED')
        for (const wrong of [{ ...ref, app: '' }, { ...ref, user: '' }, anna('')]) {
          expect(await codeOf(store.leases.acquire(wrong, { runId: 'run-1', ttlMs: TTL }))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.leases.renew(wrong, 1, TTL))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.leases.release(wrong, 1))).toBe('VALIDATION_FAILED')
          expect(await codeOf(store.leases.requestCancel(wrong, {}))).toBe('VALIDATION_FAILED')
        }
        const token = await hold(store, ref)
        expect(await codeOf(store.leases.renew(ref, token, 0))).toBe('VALIDATION_FAILED')
        expect(await codeOf(store.leases.requestCancel(ref, { mode: 'later' as never }))).toBe('VALIDATION_FAILED')
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
      },
    },
  ),
}
