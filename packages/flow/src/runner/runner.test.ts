import { type Agent, contextKey, KernelError, type RunContext, type RunInput, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { record } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { runner } from '../index.ts'
import { gate, obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, session, settled, setup, user } from './runner.fixture.ts'

describe('a run', () => {
  test('is awaited for its result', async () => {
    const { runner } = setup()
    expect(await runner().query('hi')).toMatchObject({ outcome: 'complete', text: 'heard hi' })
  })

  test('is read for its events: run-start first, exactly one run-end, last', async () => {
    const { lines } = await record(setup().runner().query('hi'))
    expect(lines).toEqual([
      'Desk run-start',
      'Desk agent-start',
      'Desk message-start',
      'Desk text-delta "heard hi"',
      'Desk message-end "heard hi"',
      'Desk agent-end complete',
      'Desk run-end complete "heard hi"',
    ])
  })

  test('is read and awaited from one call', async () => {
    const run = setup().runner().query('hi', session)
    const { end } = await record(run)
    expect(await run).toMatchObject({ text: end?.text, outcome: 'complete' })
  })

  test('takes messages as they are', async () => {
    const { runner, messages } = setup()
    await runner().run({ messages: [user('one'), user('two')] }, session)
    expect((await messages()).map(({ id }) => id).slice(0, 2)).toEqual(['user/one', 'user/two'])
  })

  test('has the id it was given, in its events and in the store', async () => {
    const { runner, store } = setup()
    const run = runner().query('hi', { ...session, runId: 'R1' })
    expect(run.runId).toBe('R1')
    const { events } = await record(run)
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(['R1']))
    expect((await store.threads.messages(ANN)).map(({ runId }) => runId)).toEqual(['R1', 'R1'])
  })

  test('holds its thread until it has ended, and the next run can start once the end was seen', async () => {
    const { pass, entered, open } = gate()
    const { runner, store, clock } = setup({ agent: obedient('Desk', { wait: pass }) })
    const desk = runner()
    const first = desk.query('call wait:a', { ...session, runId: 'R1' })
    const reading = (async () => {
      for await (const event of first) if (event.type === 'run-end') return await desk.query('next', session)
      return undefined
    })()
    await entered
    expect((await store.threads.get(ANN))?.runId).toBe('R1')
    open()
    expect((await reading)?.text).toBe('heard call wait:a | next')
    expect((await store.threads.get(ANN))?.runId).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  test('shows callbacks what it shows the consumer', async () => {
    const { runner, heard } = setup()
    const { events } = await record(runner().query('call add:a', session))
    expect(heard).toEqual(events)
  })

  test('carries what the caller has prepared', async () => {
    const LOCALE = contextKey<string>('locale')
    const agent: Agent = { name: 'A', description: '', run: (_, ctx) => say(ctx, ctx.get(LOCALE) ?? 'none') }
    const prepare = (ctx: RunContext) => ctx.with(LOCALE, 'zh')
    expect((await setup({ agent }).runner().query('hi', { prepare })).text).toBe('zh')
  })

  test('fails with what its preparation throws, and leaves the thread free', async () => {
    const { runner, clock } = setup()
    const prepare = () => {
      throw new KernelError('VALIDATION_FAILED', 'no')
    }
    expect(await settled(runner().query('hi', { ...session, prepare }))).toBe('VALIDATION_FAILED')
    expect(await settled(runner().query('next', session))).toBe('heard hi | next')
    expect(clock.pending).toBe(0)
  })
})

describe('a thread', () => {
  test('continues across calls', async () => {
    const desk = setup().runner()
    await desk.query('one', session)
    await desk.query('two', session)
    expect((await desk.query('three', session)).text).toBe('heard one | two | three')
  })

  test('continues across runners on one store', async () => {
    const { runner } = setup()
    await runner().query('one', session)
    expect((await runner().query('two', session)).text).toBe('heard one | two')
  })

  test('continues in memory without a store', async () => {
    const desk = runner({ agent: obedient('Desk') })
    await desk.query('one', session)
    expect((await desk.query('two', session)).text).toBe('heard one | two')
  })

  test('is seen whole, in order, however long it is', async () => {
    const { runner, store } = setup()
    const { token } = await store.leases.acquire(ANN, { runId: 'import', ttlMs: 1_000 })
    await store.threads.open(ANN)
    const messages = Array.from({ length: 2_500 }, (_, i) => ({ runId: 'import', message: user(`${i}`) }))
    await store.threads.commit(ANN, { messages }, token)
    await store.leases.release(ANN, token)
    const { text } = await runner().query('last', session)
    expect(text).toBe(`heard ${[...messages.keys(), 'last'].join(' | ')}`)
  })

  test('stores the messages of the events, by the same ids and under the same name', async () => {
    const { runner, messages } = setup()
    const { events } = await record(runner().query('call add:a', { ...session, runId: 'R' }))
    const shown = events.flatMap((event) => {
      if (event.type === 'message-end') return [{ id: event.message.id, agentName: event.agentName }]
      return event.type === 'tool-end' ? [{ id: event.messageId, agentName: event.agentName }] : []
    })
    const [asked, ...said] = await messages()
    expect(asked).toMatchObject({ role: 'user', content: 'call add:a' })
    expect(said).toMatchObject(shown)
    expect(said).toHaveLength(3)
  })

  test.each([
    ['step', 2, 'the first with what the run begins with'],
    ['turn', 1, 'at its end'],
  ] as const)('stores a turn of durability %s in %i commits, %s', async (durability, commits, _) => {
    const { runner, store } = setup({ durability })
    await runner().query('call add:a', session)
    expect((await store.threads.get(ANN))?.version).toBe(commits)
  })

  test('belongs to its owner: another user or app sees nothing of it', async () => {
    const { runner, store } = setup()
    const desk = runner()
    await desk.query('secret', session)
    for (const foreign of [
      { ...ANN, user: 'bob' },
      { ...ANN, app: 'other' },
    ]) {
      expect((await desk.query('mine', { session: foreign })).text).toBe('heard mine')
      expect(await desk.cancel(foreign)).toBe(false)
      expect(await store.threads.list(foreign)).toHaveLength(1)
    }
  })

  test('of another owner is not busy when this one is', async () => {
    const { pass, entered, open } = gate()
    const desk = setup({ agent: obedient('Desk', { wait: pass }) }).runner()
    const mine = settled(desk.query('call wait:a', session))
    await entered
    const bob = { session: { ...ANN, user: 'bob' } }
    expect(await settled(desk.query('hi', bob))).toBe('heard hi')
    expect(await desk.cancel(bob.session)).toBe(false)
    open()
    expect(await mine).toBe('got passed')
  })
})

describe('a run without a session', () => {
  test('is on its own and stored nowhere', async () => {
    const { runner, store, clock } = setup()
    const desk = runner()
    for (let i = 0; i < 5; i++) expect(await settled(desk.query(`${i}`))).toBe(`heard ${i}`)
    expect(await store.threads.idle({ before: Number.MAX_SAFE_INTEGER, limit: 10 })).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('gives the agent its state, and none of it stays', async () => {
    const agent: Agent = { name: 'A', description: '', run: (_, ctx) => say(ctx, String(ctx.state.get('city'))) }
    const desk = setup({ agent }).runner()
    const input: RunInput = { messages: [], state: { set: { city: 'Beijing' } } }
    expect(await settled(desk.run(input))).toBe('Beijing')
    expect(await settled(desk.run({ messages: [] }))).toBe('undefined')
  })

  test('cannot ask questions', async () => {
    expect(await settled(setup().runner().query('call ask:a'))).toBe('CONFIG_INVALID')
  })
})

describe('state', () => {
  const stateOf = async ({ store }: ReturnType<typeof setup>) => (await store.threads.get(ANN))?.state

  test('set and removed by agents stays with the thread', async () => {
    const env = setup()
    const desk = env.runner()
    await desk.query('set city Beijing', session)
    await desk.query('set land China', session)
    expect(await stateOf(env)).toEqual({ city: 'Beijing', land: 'China' })
    await desk.query('unset city', session)
    expect(await stateOf(env)).toEqual({ land: 'China' })
  })

  test('under temp: lives for one run', async () => {
    const agent: Agent = {
      name: 'A',
      description: '',
      run(_, ctx) {
        const before = String(ctx.state.get('temp:x'))
        ctx.state.set('temp:x', 'now')
        return say(ctx, before)
      },
    }
    const env = setup({ agent })
    const desk = env.runner()
    expect(await settled(desk.query('hi', session))).toBe('undefined')
    expect(await settled(desk.query('hi', session))).toBe('undefined')
    const input: RunInput = { messages: [], state: { set: { 'temp:x': 'given' } } }
    expect(await settled(desk.run(input, session))).toBe('given')
    expect(await stateOf(env)).toEqual({})
  })

  test('and processed ids of the input are committed with the turn', async () => {
    const env = setup()
    const desk = env.runner()
    await desk.query('set old value', session)
    const state = { set: { theme: { dark: true } }, removed: ['old'] }
    await desk.run({ messages: [user('hi')], state, processed: ['client-1'] }, session)
    expect(await stateOf(env)).toEqual({ theme: { dark: true } })
    expect(await env.store.threads.processed(ANN, ['client-1', 'client-2'])).toEqual(['client-1'])
  })

  test('and processed ids of the input are not committed when the run is refused', async () => {
    const { runner, store, snapshot } = setup()
    const desk = runner()
    await desk.query('call open:a', session)
    const before = await snapshot()
    const input: RunInput = { messages: [user('hi')], state: { set: { x: 1 } }, processed: ['client-1'] }
    expect(await settled(desk.run(input, session))).toBe('PENDING_TOOL_CALLS')
    expect(await snapshot()).toEqual(before)
    expect(await store.threads.processed(ANN, ['client-1'])).toEqual([])
  })

  test('and processed ids of the input are committed with what a failed run has said', async () => {
    const env = setup()
    const input: RunInput = { messages: [user('call fail:a')], state: { set: { x: 1 } }, processed: ['client-1'] }
    expect(await settled(env.runner().run(input, session))).toBe('AGENT_FAILED')
    expect(await stateOf(env)).toEqual({ x: 1 })
    expect(await env.store.threads.processed(ANN, ['client-1'])).toEqual(['client-1'])
    expect(await env.lines()).toContain('user call fail:a')
  })

  test.each(['__proto__', 'constructor', 'prototype'])('refuses the key %s of the input', async (key) => {
    const { runner, messages } = setup()
    const set = JSON.parse(`{ "${key}": { "polluted": true } }`)
    expect(await settled(runner().run({ messages: [user('hi')], state: { set } }, session))).toBe('VALIDATION_FAILED')
    expect(await messages()).toEqual([])
  })
})

describe('a runner made wrongly is CONFIG_INVALID', () => {
  const wrong: [string, unknown][] = [
    ['no agent', { agent: undefined }],
    ['an agent without run', { agent: { name: 'A' } }],
    ['an agent without a name', { agent: { ...obedient('A'), name: '' } }],
    ['an unknown busy policy', { busy: 'wait' }],
    ['an unknown pending policy', { pending: 'ignore' }],
    ['a limit that is not a number', { limits: { runMs: '1' } }],
    ['a limit of NaN', { limits: { idleMs: Number.NaN } }],
    ['a negative limit', { limits: { transfers: -1 } }],
    ['a lease of no time', { limits: { leaseMs: 0 } }],
  ]
  test.each(wrong)('%s', (_, options) => {
    const make = () => runner({ agent: obedient('A', TOOLS), store: memoryStore(), ...(options as object) })
    expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('and so is an unknown mode of cancel', async () => {
    await expect(
      setup()
        .runner()
        .cancel(ANN, { mode: 'soon' as 'now' }),
    ).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
  })

  test('and so is a resume without a session', () => {
    const resume = () =>
      setup()
        .runner()
        .resume({ 'a#x': true }, {} as typeof session)
    expect(resume).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
