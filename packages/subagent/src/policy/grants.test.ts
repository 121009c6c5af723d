import type { GrantStore } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { beforeEach, describe, expect, test } from 'vitest'
import { createBus, createPolicy, type PolicyRule } from '../index.ts'
import { callOf, codeOf, noting, noUnhandledRejection } from './policy.fixture.ts'

beforeEach(noUnhandledRejection)

const ann = { app: 'demo', user: 'ann' }
const session = { ...ann, threadId: 't1' }
const rules: readonly PolicyRule[] = [{ effect: 'ask', tool: 'save', args: { path: { glob: 'secret/**' } } }]

/** The grants of a store that has the threads of ann. */
function annsGrants(): GrantStore {
  const store = memoryStore()
  // Opened at once, because the store is in memory.
  for (const threadId of ['t1', 't2']) store.threads.open({ ...ann, threadId })
  return store.grants
}

/** A policy with grants, and a way to call its tool in a thread. */
function harness(grants: GrantStore = annsGrants(), more: Parameters<typeof noting>[2] = {}) {
  const ran: unknown[] = []
  const policy = createPolicy({ grants, rules })
  const save = noting('save', ran, { kind: 'write', ...more })
  const start = (given: Partial<Parameters<typeof callOf>[0]> = {}, path: readonly string[] = ['coder']) => {
    const call = callOf({ session, ...given })
    const guarded = policy.guard(save, { path })
    return {
      attempt: (answer?: object) => call.attempt(guarded, answer && { [given.callId ?? 'c1']: answer as never }),
    }
  }
  /** Calls once and gives whether the call was asked about. */
  const asks = async (...given: Parameters<typeof start>) => (await start(...given).attempt()).interrupts.length > 0
  const answer = async (given: object, ...where: Parameters<typeof start>) => {
    const call = start(...where)
    await call.attempt()
    return call.attempt(given)
  }
  return { ran, grants, asks, answer, start }
}

describe('an answer with always', () => {
  test('for this thread permits the next calls there, and in no other thread', async () => {
    const { asks, answer, ran } = harness()
    await answer({ approved: true, always: 'thread' })
    expect(ran).toHaveLength(1)
    expect(await asks()).toBe(false)
    expect(ran).toHaveLength(2)
    expect(await asks({ session: { ...session, threadId: 't2' } })).toBe(true)
  })

  test('for this tool permits it in all threads of the owner, and of no other owner', async () => {
    const { asks, answer } = harness()
    await answer({ approved: true, always: 'tool' })
    expect(await asks({ session: { ...session, threadId: 't2' } })).toBe(false)
    for (const other of [{ user: 'bob' }, { app: 'other' }])
      expect(await asks({ session: { ...session, ...other } })).toBe(true)
  })

  test('holds for this agent and for the question that was asked, not for another rule', async () => {
    const { asks, answer } = harness()
    await answer({ approved: true, always: 'tool' })
    expect(await asks({}, ['coder', 'tester'])).toBe(true)
    expect(await asks({ args: { path: 'secret/key' } })).toBe(true)
    await answer({ approved: true, always: 'tool' }, { args: { path: 'secret/key' } })
    expect(await asks({ args: { path: 'secret/other' } })).toBe(false)
  })

  test('can be listed and revoked', async () => {
    const { asks, answer, grants } = harness()
    await answer({ approved: true, always: 'tool' })
    const [grant, ...more] = await grants.list(ann)
    expect([grant, more]).toMatchObject([{ agent: 'coder', tool: 'save' }, []])
    expect(await grants.revoke({ ...ann, user: 'bob' }, grant?.id ?? '')).toBe(false)
    expect(await grants.revoke(ann, grant?.id ?? '')).toBe(true)
    expect(await grants.revoke(ann, grant?.id ?? '')).toBe(false)
    expect(await asks()).toBe(true)
  })

  test('counts only with an approval, a known scope and a policy that keeps it', async () => {
    const { asks, answer, grants } = harness()
    expect(codeOf(await answer({ approved: false, always: 'tool' }))).toBe('TOOL_REFUSED')
    expect(codeOf(await answer({ approved: true, always: 'ever' }))).toBe('TOOL_REFUSED')
    expect(await grants.list(ann)).toEqual([])
    const call = callOf({ session })
    const guarded = createPolicy().guard(noting('save', [], { kind: 'write' }), { path: ['coder'] })
    await call.attempt(guarded)
    expect((await call.attempt(guarded, { c1: { approved: true, always: 'tool' } })).result?.error).toBeUndefined()
    expect(await asks()).toBe(true)
  })

  test('given to one call does not undo the refusal of the call beside it', async () => {
    const { ran, start } = harness()
    const [one, other] = [start(), start({ callId: 'c2' })]
    await Promise.all([one.attempt(), other.attempt()])
    await one.attempt({ approved: true, always: 'tool' })
    expect(codeOf(await other.attempt({ approved: false }))).toBe('TOOL_REFUSED')
    expect(ran).toHaveLength(1)
  })

  test('does not answer for a tool that needs approval itself, and a rule that denies still denies', async () => {
    const { answer, asks } = harness(annsGrants(), { needsApproval: () => true })
    await answer({ approved: true, always: 'tool' })
    expect(await asks()).toBe(true)
    const grants = annsGrants()
    await harness(grants).answer({ approved: true, always: 'tool' })
    const strict = createPolicy({ grants, rules: [{ effect: 'deny', tool: 'save' }] })
    const denied = await callOf({ session }).attempt(strict.guard(noting('save', []), { path: ['coder'] }))
    expect(codeOf(denied)).toBe('POLICY_DENIED')
  })

  test('of a live listener is kept too, and the audit names the grant', async () => {
    const bus = createBus()
    const offered: boolean[] = []
    const by: string[] = []
    bus.on('approval', ({ offersAlways }) => {
      offered.push(offersAlways)
      return { approved: true, always: 'tool' }
    })
    bus.on('audit', (event) => void (event.type === 'decided' && by.push(event.by)))
    const guarded = createPolicy({ bus, grants: annsGrants() }).guard(noting('save', [], { kind: 'write' }), {
      path: [],
    })
    for (const canInterrupt of [true, false]) await callOf({ session, canInterrupt }).attempt(guarded)
    expect([offered, by]).toEqual([[true], ['listener', 'grant']])
  })

  test('is neither offered nor looked for in a run without a session, because it has no owner', async () => {
    const { start, grants } = harness()
    const call = callOf()
    const guarded = createPolicy({ grants }).guard(noting('save', [], { kind: 'write' }), { path: ['coder'] })
    const { interrupts } = await call.attempt(guarded)
    expect(interrupts[0]?.responseSchema?.properties).not.toHaveProperty('always')
    await call.attempt(guarded, { c1: { approved: true, always: 'tool' } })
    expect(await grants.list({ app: 'standalone', user: 'standalone' })).toEqual([])
    expect((await start().attempt()).interrupts[0]?.responseSchema?.properties).toHaveProperty('always')
  })

  test('asks a person if the grants cannot be read', async () => {
    const broken = { ...annsGrants(), list: () => Promise.reject(new Error('down')) }
    expect(await harness(broken).asks()).toBe(true)
  })

  test('holds in another process, until it is revoked there', async () => {
    const grants = annsGrants()
    await harness(grants).answer({ approved: true, always: 'thread' })
    const other = harness(grants)
    expect(await other.asks()).toBe(false)
    for (const { id } of await grants.list(ann)) await grants.revoke(ann, id)
    expect([await other.asks(), await harness(grants).asks()]).toEqual([true, true])
  })

  test('for a thread that was deleted meanwhile is not kept, and the call gets the reason', async () => {
    const store = memoryStore()
    await store.threads.open(session)
    const { start } = harness(store.grants)
    const call = start()
    await call.attempt()
    await store.threads.delete(session)
    expect(codeOf(await call.attempt({ approved: true, always: 'thread' }))).toBe('NOT_FOUND')
    expect(await store.grants.list(ann)).toEqual([])
  })
})
