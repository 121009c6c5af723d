import type { Grant, Store, ThreadRef } from '@troupe/kernel'
import { expect } from 'vitest'
import { forkAt, say } from './fork-samples.ts'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, anna, ben, codeOf, hold, upTo } from './store-samples.ts'

/** A grant as `add` takes it. */
function given(tool: string, more: Partial<Grant> = {}): Omit<Grant, 'id'> {
  return { agent: 'coder', tool, at: 1, ...more }
}

/** What an owner has granted, without the ids. */
async function granted(store: Store, ref: ThreadRef, where?: { readonly threadId: string }) {
  return (await store.grants.list(ref, where)).map(({ id: _, ...grant }) => grant)
}

/** Permissions that outlive their process. */
export const grantClauses: StoreClauses = {
  ...advised(
    'Keep grants by owner, thread, agent, tool and rule; give each an id of its own, list them in the order they came in, and filter by thread those that are for one.',
    {
      'grants are listed as they were given, oldest first, each with an id': async ({ store, ref }) => {
        await store.threads.open(ref)
        const wanted = [
          given('save', { rule: AWKWARD, at: 1.5 }),
          given(AWKWARD, { agent: '', threadId: ref.threadId }),
          given('save', { agent: AWKWARD }),
        ]
        for (const grant of wanted) await store.grants.add(ref, grant)
        expect(await granted(store, ref)).toEqual(wanted)
        const ids = (await store.grants.list(ref)).map(({ id }) => id)
        expect(new Set(ids).size).toBe(3)
        expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
      },
      'a grant that is there already is not added again, and keeps its id': async ({ store, ref }) => {
        await store.threads.open(ref)
        const rules = [undefined, 'a', 'b']
        const all = rules.flatMap((rule) =>
          [undefined, ref.threadId].map((threadId) =>
            given('save', { ...(rule !== undefined && { rule }), ...(threadId !== undefined && { threadId }) }),
          ),
        )
        for (const grant of all) await store.grants.add(ref, grant)
        const before = await store.grants.list(ref)
        expect(before).toHaveLength(6)
        await Promise.all(all.map((grant) => store.grants.add(ref, { ...grant, at: 9 })))
        expect(await store.grants.list(ref)).toEqual(before)
      },
      'of the same grant that comes several times at once one is kept': async ({ store, ref }) => {
        await Promise.all(upTo(5).map(() => store.grants.add(ref, given('save'))))
        expect(await granted(store, ref)).toEqual([given('save')])
      },
      'those that hold in a thread are its own and those of all threads': async ({ store, ref }) => {
        for (const id of ['t1', 't2']) {
          await store.threads.open(anna(id))
          await store.grants.add(ref, given(id, { threadId: id }))
        }
        await store.grants.add(ref, given('all'))
        const tools = async (threadId: string) => (await granted(store, ref, { threadId })).map(({ tool }) => tool)
        expect([await tools('t1'), await tools('t2'), await tools('t3')]).toEqual([
          ['t1', 'all'],
          ['t2', 'all'],
          ['all'],
        ])
      },
      'an owner keeps the newest thousand': async ({ store, ref }) => {
        await store.grants.add(ben(), given('ben'))
        for (const n of upTo(1001)) await store.grants.add(ref, given(`tool-${n}`))
        const tools = (await granted(store, ref)).map(({ tool }) => tool)
        expect([tools.length, tools[0], tools.at(-1)]).toEqual([1000, 'tool-2', 'tool-1001'])
        expect(await granted(store, ben())).toHaveLength(1)
      },
    },
  ),
  ...advised('Remove a grant by its id and its owner, and tell whether it was there; give no id twice.', {
    'a grant is revoked once, and what is given again has another id': async ({ store, ref }) => {
      for (const tool of ['save', 'send']) await store.grants.add(ref, given(tool))
      const [, send] = await store.grants.list(ref)
      const id = send?.id ?? ''
      const revoked = await Promise.all(upTo(3).map(() => store.grants.revoke(ref, id)))
      expect(revoked.filter(Boolean)).toHaveLength(1)
      expect(await granted(store, ref)).toEqual([given('save')])
      await store.grants.add(ref, given('send'))
      expect(await store.grants.revoke(ref, id)).toBe(false)
      for (const unknown of ['unknown', '1.5', ' 1', '-1', '99999999999999999999']) {
        expect(await store.grants.revoke(ref, unknown)).toBe(false)
      }
      expect(await granted(store, ref)).toHaveLength(2)
    },
    'grants of another owner are neither seen nor revoked': async ({ store, ref }) => {
      await store.threads.open(ref)
      await store.grants.add(ref, given('save', { threadId: ref.threadId }))
      await store.grants.add(ref, given('send'))
      const own = await store.grants.list(ref)
      for (const foreign of [ben(), { ...ref, app: 'other' }]) {
        expect(await store.grants.list(foreign)).toEqual([])
        expect(await store.grants.list(foreign, { threadId: ref.threadId })).toEqual([])
        for (const { id } of own) expect(await store.grants.revoke(foreign, id)).toBe(false)
        expect(await codeOf(store.grants.add(foreign, given('save', { threadId: ref.threadId })))).toBe('NOT_FOUND')
      }
      expect(await store.grants.list(ref)).toEqual(own)
    },
  }),
  ...advised(
    'Let a grant for a thread hang on the thread itself and not on its name: it needs the thread, goes with it, and goes along when a cut gives the thread another name.',
    {
      'a grant for a thread that is not there is NOT_FOUND, also when it was deleted': async ({ store, ref }) => {
        const late = given('save', { threadId: ref.threadId })
        expect(await codeOf(store.grants.add(ref, late))).toBe('NOT_FOUND')
        await store.threads.open(ref)
        await store.threads.delete(ref)
        expect(await codeOf(store.grants.add(ref, late))).toBe('NOT_FOUND')
        await store.threads.open(ref)
        expect(await store.grants.list(ref)).toEqual([])
      },
      'a deleted thread takes its grants with it, and no others': async ({ store, ref }) => {
        await store.threads.open(ref)
        await store.threads.open(anna('t2'))
        for (const threadId of [ref.threadId, 't2']) await store.grants.add(ref, given('save', { threadId }))
        await store.grants.add(ref, given('send'))
        await store.threads.delete(ref)
        await store.threads.open(ref)
        expect(await granted(store, ref)).toEqual([given('save', { threadId: 't2' }), given('send')])
      },
      'a branch does not have the grants of its source': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        await store.grants.add(ref, given('save', { threadId: ref.threadId }))
        const { threadId } = await forkAt(store, ref, 'm1')
        expect(await granted(store, ref, { threadId })).toEqual([])
        expect(await granted(store, ref, ref)).toHaveLength(1)
      },
      'a cut thread does not have them either: they are with what it was': async ({ store, ref }) => {
        await say(store, ref, 'm1')
        const grant = given('save', { threadId: ref.threadId })
        await store.grants.add(ref, grant)
        const token = await hold(store, ref)
        await store.threads.cut(ref, { at: 'm1', to: 'old' }, token)
        expect(await granted(store, ref)).toEqual([{ ...grant, threadId: 'old' }])
        expect(await granted(store, ref, ref)).toEqual([])
        await store.grants.add(ref, grant)
        expect(await granted(store, ref)).toHaveLength(2)
        await store.threads.delete(anna('old'))
        expect(await granted(store, ref)).toEqual([grant])
      },
    },
  ),
}
