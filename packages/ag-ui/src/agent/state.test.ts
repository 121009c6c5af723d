import { EventType } from '@ag-ui/core'
import { type Json, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { ANN, agentOf, endOf, stage, user } from './agent.fixture.ts'

/** Answers with the state, and sets and removes the keys that the message names. */
const keeper = agentOf(async function* ({ messages }, ctx) {
  const found = Object.fromEntries([...ctx.state.keys()].map((key) => [key, ctx.state.get(key)]))
  const [verb, key = '', value = ''] = String(messages.at(-1)?.content).split(' ')
  if (verb === 'set') ctx.state.set(key, value)
  if (verb === 'remove') ctx.state.delete(key)
  yield* say(ctx, JSON.stringify(found))
})
const found = (events: readonly { type: string }[]) =>
  JSON.parse(
    events
      .map((event) =>
        event.type === EventType.TEXT_MESSAGE_CONTENT ? (event as unknown as { delta: string }).delta : '',
      )
      .join(''),
  ) as Json
const snapshots = (events: readonly { type: string }[]) =>
  events.flatMap((event) =>
    event.type === EventType.STATE_SNAPSHOT ? [(event as unknown as { snapshot: Json }).snapshot] : [],
  )

describe('状态同步: from the client', () => {
  test('a run begins with its state and keeps it', async () => {
    const { serve, store } = stage(keeper)
    const events = await serve({ messages: [user('look')], state: { theme: 'dark', list: [1, 2] } })
    expect(found(events)).toEqual({ theme: 'dark', list: [1, 2] })
    expect((await store.threads.get(ANN))?.state).toEqual({ theme: 'dark', list: [1, 2] })
  })

  test.each([
    ['merge', { a: 1, b: null, c: 4 }],
    ['patch', { a: 1, c: 4 }],
    ['replace', { b: null, c: 4 }],
  ] as const)('by %s, keys that it lacks and keys that are null become %j', async (clientState, expected) => {
    const { serve, store } = stage(keeper, { clientState })
    await serve({ messages: [user('one')], state: { a: 1, b: 2 } })
    expect(found(await serve({ messages: [user('two')], state: { b: null, c: 4 } }))).toEqual(expected)
    expect((await store.threads.get(ANN))?.state).toEqual(expected)
  })

  test('by default a page that was loaded anew and a second tab lose nothing', async () => {
    const { serve, store } = stage(keeper)
    await serve({ messages: [user('set cart tea')], state: { theme: 'dark' } })
    await serve({ messages: [user('look')], state: { draft: 'x' } })
    expect((await store.threads.get(ANN))?.state).toEqual({ theme: 'dark', cart: 'tea', draft: 'x' })
  })

  test.each([undefined, {}])(
    '%j says nothing: a page that was loaded anew keeps what the server has',
    async (state) => {
      const { serve } = stage(keeper)
      await serve({ messages: [user('one')], state: { a: 1 } })
      expect(found(await serve({ messages: [user('two')], ...(state && { state }) }))).toEqual({ a: 1 })
    },
  )

  test('temp: keys exist for one run and are neither stored nor shown', async () => {
    const { serve, store } = stage(keeper)
    const events = await serve({ messages: [user('one')], state: { a: 1, 'temp:draft': 'x' } })
    expect(found(events)).toEqual({ a: 1, 'temp:draft': 'x' })
    expect(snapshots(events)).toEqual([{ a: 1 }])
    expect((await store.threads.get(ANN))?.state).toEqual({ a: 1 })
    expect(found(await serve({ messages: [user('two')] }))).toEqual({ a: 1 })
  })

  test('hidden keys are neither shown, nor set, nor removed', async () => {
    const { serve, store } = stage(keeper, { hidden: (key) => key.startsWith('_') })
    const first = await serve({ messages: [user('set _secret 7')], state: { a: 1 } })
    expect(JSON.stringify(snapshots(first))).not.toContain('_secret')
    await serve({ messages: [user('look')], state: { a: 2 } })
    expect((await store.threads.get(ANN))?.state).toEqual({ a: 2, _secret: '7' })
    const events = await serve({ messages: [user('look', 'u9')], state: { _secret: 'mine' } })
    expect(events.at(-1)).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('state._secret'),
    })
    expect((await store.threads.get(ANN))?.state).toEqual({ a: 2, _secret: '7' })
  })

  test('a request that asks again begins with the state from before, and does what its run did', async () => {
    const { serve, store } = stage(keeper)
    const request = { messages: [user('set a 2')], state: { a: 1 } }
    await serve(request)
    expect(snapshots(await serve(request))).toEqual([{ a: 1 }, { a: '2' }])
    expect((await store.threads.get(ANN))?.state).toEqual({ a: '2' })
  })

  test('without a thread the client keeps its own state', async () => {
    const { serve, store } = stage(keeper)
    expect(snapshots(await serve({ state: { a: 1 } }))).toEqual([{ a: 1 }])
    const cancelled = await serve({ state: { a: 1 }, messages: [user('x')] }, { signal: AbortSignal.abort() })
    expect(snapshots(cancelled)).toEqual([{ a: 1 }])
    expect(await store.threads.get(ANN)).toBeUndefined()
  })

  test('a state that is too large or not an object changes nothing', async () => {
    const { serve, store } = stage(keeper)
    await serve({ messages: [user('one')], state: { a: 1 } })
    for (const state of [{ a: 'x'.repeat(300_000) }, [], 'x']) {
      expect(endOf(await serve({ messages: [user('two')], state }))).toBe('VALIDATION_FAILED')
    }
    expect((await store.threads.get(ANN))?.state).toEqual({ a: 1 })
  })
})

describe('状态同步: to the client', () => {
  test('a snapshot comes first, then changes, then a snapshot', async () => {
    const { serve } = stage(keeper)
    const events = await serve({ messages: [user('set b 2')], state: { a: 1 } })
    expect(snapshots(events)).toEqual([{ a: 1 }, { a: 1, b: '2' }])
    expect(events.find(({ type }) => type === EventType.STATE_DELTA)).toMatchObject({
      delta: [{ op: 'add', path: '/b', value: '2' }],
    })
    const removing = await serve({ messages: [user('remove a')] })
    expect(removing.find(({ type }) => type === EventType.STATE_DELTA)).toMatchObject({
      delta: [{ op: 'remove', path: '/a' }],
    })
  })
})
