import type { ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { anna, begin, ben, call, codeOf, entriesOf, hold, logged, said, start, statuses, TTL } from './store-samples.ts'

const usage = { inputTokens: 1, outputTokens: 2 }

/** Foreign looks the same as absent. */
export const ownerClauses: StoreClauses = {
  ...advised(
    'Put app and user into the condition of every statement, so that a foreign thread looks like one that is not there.',
    {
      'a foreign thread reads as absent in every port': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await store.threads.commit(ref, { set: { a: 1 }, messages: [said('m1')], processed: ['p'] }, token)
        await store.records.apply(ref, [
          start('run-1'),
          call('call-1', 'running'),
          { type: 'usage', runId: 'run-1', spanId: 's', model: 'm', usage },
        ])
        await store.runLog.append(ref, 'run-1', 0, [1])
        await begin(store, ref, token, ['a'])
        for (const foreign of [ben(), { ...ref, app: 'other' }]) {
          expect(await store.threads.get(foreign)).toBeUndefined()
          expect(await store.threads.list(foreign)).toEqual([])
          expect(await store.threads.messages(foreign)).toEqual([])
          expect(await store.threads.processed(foreign, ['p'])).toEqual([])
          expect(await store.records.runs(foreign)).toEqual([])
          expect(await store.records.toolCalls(foreign, 'run-1')).toEqual([])
          expect(await store.records.modelCalls(foreign, 'run-1')).toEqual([])
          expect(await store.records.usage(foreign)).toEqual({ inputTokens: 0, outputTokens: 0 })
          expect(await codeOf(logged(store, foreign))).toBe('NOT_FOUND')
          expect(await store.journal.read(foreign)).toBeUndefined()
        }
      },
      'a foreign delete is false and deletes nothing': async ({ store, ref }) => {
        await store.threads.open(ref)
        expect(await store.threads.delete(ben())).toBe(false)
        expect(await store.threads.get(ref)).toBeDefined()
      },
      'the right token does not help a foreign commit': async ({ store, ref }) => {
        const token = await hold(store, ref)
        expect(await codeOf(store.threads.commit(ben(), { set: { a: 1 } }, token))).toBe('LEASE_LOST')
        await store.threads.open(ben())
        expect(await codeOf(store.threads.commit(ben(), { set: { a: 1 } }, token))).toBe('LEASE_LOST')
        expect((await store.threads.get(ref))?.version).toBe(0)
      },
      'the right token does not help a foreign append to a journal': async ({ store, ref }) => {
        const token = await hold(store, ref)
        await begin(store, ref, token, ['a'])
        expect(await codeOf(store.journal.append(ben(), 'run-1', ['b'], token))).toBe('LEASE_LOST')
        const own = await hold(store, ben())
        expect(await codeOf(store.journal.append(ben(), 'run-1', ['b'], token))).toBe('LEASE_LOST')
        expect(await codeOf(store.journal.append(ben(), 'run-1', ['b'], own))).toBe('NOT_FOUND')
        await begin(store, ben(), own, [])
        expect(await entriesOf(store, ref)).toEqual(['a'])
        expect(await entriesOf(store, ben())).toEqual([])
      },
      'nobody renews, releases or cancels a foreign lease': async ({ store, ref }) => {
        const token = await hold(store, ref)
        expect(await codeOf(store.leases.renew(ben(), token, TTL))).toBe('LEASE_LOST')
        expect(await store.leases.requestCancel(ben(), {})).toBe(false)
        expect(await store.leases.requestCancel(ben(), { runId: 'run-1' })).toBe(false)
        await store.leases.release(ben(), token)
        expect(await store.leases.renew(ref, token, TTL)).toEqual({})
      },
      'a foreign lease on the same thread id is in nobody’s way': async ({ store, ref }) => {
        const first = await hold(store, ref)
        const second = await hold(store, ben(), 'run-2')
        await store.threads.commit(ref, { set: { who: 'anna' } }, first)
        await store.threads.commit(ben(), { set: { who: 'ben' } }, second)
        expect((await store.threads.get(ref))?.state).toEqual({ who: 'anna' })
        expect((await store.threads.get(ben()))?.state).toEqual({ who: 'ben' })
      },
      'foreign records are refused and change nothing': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.records.apply(ref, [start('run-1'), call('call-1', 'running')])
        const text = { type: 'run-text', runId: 'run-1', offset: 0, text: 'mine' } as const
        const commands = [
          text,
          call('call-1', 'complete'),
          { type: 'usage', runId: 'run-1', spanId: 's', model: 'm', usage },
        ] as const
        const refused = commands.map(() => ({ runId: 'run-1', refused: true }))
        expect(await store.records.apply(ben(), commands)).toEqual(refused)
        await store.threads.open(ben())
        expect(await store.records.apply(ben(), commands)).toEqual(refused)
        expect((await store.records.runs(ref))[0]?.text).toBe('')
        expect(await statuses(store, ref)).toEqual({ 'call-1': 'running' })
        expect(await store.records.usage(ref)).toEqual({ inputTokens: 0, outputTokens: 0 })
      },
      'the same run id under two owners is two runs': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.threads.open(ben())
        expect(await store.records.apply(ref, [start('run-1')])).toEqual([{ runId: 'run-1', seq: 1 }])
        expect(await store.records.apply(ben(), [start('run-1')])).toEqual([{ runId: 'run-1', seq: 1 }])
      },
      'a foreign append does not reach the log': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.runLog.append(ref, 'run-1', 0, [1])
        expect(await codeOf(store.runLog.append(ben(), 'run-1', 1, [2]))).toBe('NOT_FOUND')
        await store.threads.open(ben())
        expect(await codeOf(store.runLog.append(ben(), 'run-1', 1, [2]))).toBe('VERSION_CONFLICT')
        expect(await logged(store, ref)).toEqual([1])
      },
      'taking over a lease does not finish a foreign run of the same id': async ({ store, clock, ref }) => {
        await hold(store, ref)
        await store.threads.open(ben())
        await store.records.apply(ben(), [start('run-1')])
        clock.advance(TTL)
        await store.leases.acquire(ref, { runId: 'run-2', ttlMs: TTL })
        expect((await store.records.runs(ben()))[0]?.status).toBe('generating')
      },
    },
  ),
  ...advised(
    'Compare app, user and threadId each for itself, byte by byte; do not join them to one key without escaping.',
    {
      'owners that only look alike are different': async ({ store }) => {
        const refs: ThreadRef[] = [
          { app: 'a', user: 'b', threadId: 'c' },
          { app: 'a', user: 'B', threadId: 'c' },
          { app: 'a', user: 'b ', threadId: 'c' },
          { app: 'a', user: 'b', threadId: 'C' },
          { app: 'a', user: '%', threadId: 'c' },
          ...['/', ':', '|', ',', '","'].flatMap((glue) => [
            { app: 'a', user: `b${glue}c`, threadId: 'd' },
            { app: `a${glue}b`, user: 'c', threadId: 'd' },
            { app: 'a', user: 'b', threadId: `c${glue}d` },
          ]),
        ]
        for (const [n, ref] of refs.entries()) {
          expect(await store.threads.get(ref)).toBeUndefined()
          const token = await hold(store, ref, `run-${n}`)
          await store.threads.commit(ref, { set: { n } }, token)
        }
        for (const [n, ref] of refs.entries()) expect(await store.threads.get(ref)).toMatchObject({ ref, state: { n } })
      },
      'a ref may carry more than its three names': async ({ store }) => {
        const wide = { ...anna(), more: true }
        expect((await store.threads.open(wide)).ref).toEqual(anna())
        expect(await store.threads.get(anna())).toBeDefined()
      },
    },
  ),
}
