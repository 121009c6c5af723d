import type { Agent, Message } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { record } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { loop, parallel, sequential, setSubAgents } from '../index.ts'
import { obedient } from './obedient.fixture.ts'
import { ANN, asking, resultOf, session, settled, setup, unsound, user } from './runner.fixture.ts'

const waiting = (text = 'call add:a open:b open:c', agent?: Agent) => asking(text, agent)
const openCallsOf = async ({ store }: Pick<ReturnType<typeof setup>, 'store'>) =>
  (await store.threads.get(ANN))?.openCalls

describe('a call of a long-running tool', () => {
  test('stays open in the thread, with the agent that asked', async () => {
    const env = await waiting()
    expect(await openCallsOf(env)).toEqual([
      { callId: 'b', name: 'open', agentName: 'Desk' },
      { callId: 'c', name: 'open', agentName: 'Desk' },
    ])
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'complete', openCallIds: ['b', 'c'] })
  })

  test('is stored before the end of the run is shown', async () => {
    const { runner, store } = setup()
    for await (const { type } of runner().query('call open:a', session)) {
      if (type === 'run-end') expect(await openCallsOf({ store })).toHaveLength(1)
    }
  })

  test('is not an action that a consumer sees', async () => {
    const { events } = await record(setup().runner().query('call open:a', session))
    expect(events.filter(({ type }) => type === 'action')).toEqual([])
  })

  test('continues when its result comes as input', async () => {
    const env = await waiting('call add:a open:b')
    expect(await settled(env.desk.run({ messages: [resultOf('b')] }, session))).toBe('got added a, result b')
    expect(await openCallsOf(env)).toEqual([])
    expect((await env.store.threads.get(ANN))?.checkpoint).toBeUndefined()
    expect(unsound(await env.messages())).toEqual([])
  })

  test('continues in another runner', async () => {
    const env = await waiting('call open:a')
    expect(await settled(env.runner().run({ messages: [resultOf('a')] }, session))).toBe('got result a')
  })

  test('waits for the others when some results have come, in any order', async () => {
    const env = await waiting()
    const partly = await env.desk.run({ messages: [resultOf('c')] }, session)
    expect(partly).toMatchObject({ outcome: 'complete', openCallIds: ['b'] })
    expect(await openCallsOf(env)).toMatchObject([{ callId: 'b' }])
    expect(await settled(env.desk.run({ messages: [resultOf('b')] }, session))).toBe('got added a, result c, result b')
    expect(unsound(await env.messages())).toEqual([])
  })

  test('continues once when all results come at once, in any order', async () => {
    const env = await waiting('call open:b open:c')
    const { events } = await record(env.desk.run({ messages: [resultOf('c'), resultOf('b')] }, session))
    expect(events.filter(({ type }) => type === 'message-end')).toHaveLength(1)
    expect(await openCallsOf(env)).toEqual([])
    expect(unsound(await env.messages())).toEqual([])
  })
})

describe('the result comes to the agent that asked', () => {
  const started = async (text: string, make: () => Agent) => {
    const env = await waiting(text, make())
    const { events } = await record(env.runner({ agent: make() }).run({ messages: [resultOf('a')] }, session))
    expect(unsound(await env.messages())).toEqual([])
    expect(await openCallsOf(env)).toEqual([])
    return events
      .filter(({ type }) => type === 'message-end')
      .map(({ runPath, agentName }) => [...runPath, agentName].join('/'))
  }

  test('in the root', async () => {
    expect(await started('call open:a', () => obedient('Desk'))).toEqual(['Desk'])
  })

  test('below it', async () => {
    const tree = () => setSubAgents(obedient('Desk'), [obedient('Leaf')])
    expect(await started('to:Leaf call open:a', tree)).toEqual(['Desk/Leaf'])
  })

  test('however deep', async () => {
    const tree = () =>
      setSubAgents(obedient('Desk'), [
        setSubAgents(obedient('One'), [setSubAgents(obedient('Two'), [obedient('Leaf')]), obedient('Side')]),
      ])
    expect(await started('to:One/Two/Leaf call open:a', tree)).toEqual(['Desk/One/Two/Leaf'])
  })

  test('by the path that led there: back to the parent', async () => {
    const tree = () => setSubAgents(obedient('Desk'), [obedient('Leaf')])
    const env = await waiting('to:Leaf call open:a', tree())
    await env.desk.run({ messages: [resultOf('a')] }, session)
    expect(await settled(env.desk.query('next', session))).toBe('heard to:Leaf call open:a | next')
  })

  test('in a step of a sequence, which then goes on', async () => {
    const quiet: Agent = { ...obedient('Second'), run: obedient('Second', {}).run }
    const make = () => sequential({ name: 'Steps', agents: [obedient('First'), quiet] })
    const env = await waiting('call open:a', make())
    expect(env.heard.some(({ agentName }) => agentName === 'Second')).toBe(false)
    const { events } = await record(env.runner({ agent: make() }).run({ messages: [resultOf('a')] }, session))
    const agentNames = events.filter(({ type }) => type === 'agent-start').map(({ agentName }) => agentName)
    expect(agentNames).toEqual(['Steps', 'First', 'Second'])
  })

  test('in a loop and in a branch', async () => {
    const make = () =>
      loop({ name: 'Round', maxIterations: 1, agents: [parallel({ name: 'Both', agents: [obedient('Left')] })] })
    expect(await started('call open:a', make)).toEqual([expect.stringMatching(/Left$/)])
  })
})

describe('a result without an open call is TOOL_CALL_UNKNOWN, and nothing is changed', () => {
  const wrong: [string, readonly Message[]][] = [
    ['an unknown call', [resultOf('z')]],
    ['an unknown call beside a known one', [resultOf('b'), resultOf('z')]],
    ['a call that has its result', [resultOf('a')]],
    ['a call twice', [resultOf('b'), { ...resultOf('b'), id: 'again' }]],
  ]
  test.each(wrong)('%s', async (_, messages) => {
    const env = await waiting()
    const before = await env.snapshot()
    const error: unknown = await Promise.resolve(env.desk.run({ messages }, session)).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'TOOL_CALL_UNKNOWN', details: { open: ['b', 'c'] } })
    expect(await env.snapshot()).toEqual(before)
  })

  test('the same result in a second run', async () => {
    const env = await waiting('call open:a')
    await env.desk.run({ messages: [resultOf('a')] }, session)
    const before = await env.snapshot()
    expect(await settled(env.desk.run({ messages: [resultOf('a')] }, session))).toBe('TOOL_CALL_UNKNOWN')
    expect(await env.snapshot()).toEqual(before)
  })

  test('a result in a thread of another owner', async () => {
    const env = await waiting('call open:a')
    const before = await env.snapshot()
    const foreign = { session: { ...ANN, user: 'bob' } }
    expect(await settled(env.desk.run({ messages: [resultOf('a')] }, foreign))).toBe('TOOL_CALL_UNKNOWN')
    expect(await env.snapshot()).toEqual(before)
  })
})

describe('a user message while calls are open', () => {
  test('is PENDING_TOOL_CALLS and changes nothing', async () => {
    const env = await waiting()
    const before = await env.snapshot()
    const error: unknown = await Promise.resolve(env.desk.query('hi', session)).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'PENDING_TOOL_CALLS', details: { callIds: ['b', 'c'] } })
    expect(await env.snapshot()).toEqual(before)
    expect(env.clock.pending).toBe(0)
  })

  test('with pending drop answers them neutrally, before the message, and begins at the root', async () => {
    const tree = setSubAgents(obedient('Desk'), [obedient('Leaf')])
    const env = await waiting('to:Leaf call add:a open:b', tree)
    const drop = env.runner({ pending: 'drop' })
    const { end } = await record(drop.query('next', session))
    expect(end).toMatchObject({ agentName: 'Desk', text: 'heard to:Leaf call add:a open:b | next' })
    expect((await env.lines()).slice(2)).toEqual([
      'tool a: added a',
      `tool b: ${UNKNOWN_RESULT}`,
      'user next',
      'assistant heard to:Leaf call add:a open:b | next',
    ])
    expect(await openCallsOf(env)).toEqual([])
    expect(await settled(env.desk.run({ messages: [resultOf('b')] }, session))).toBe('TOOL_CALL_UNKNOWN')
  })

  test('with pending drop and some results drops the others only', async () => {
    const env = await waiting('call open:b open:c')
    await env.runner({ pending: 'drop' }).run({ messages: [resultOf('c'), user('next')] }, session)
    expect((await env.lines()).filter((line) => line.startsWith('tool')).sort()).toEqual([
      `tool b: ${UNKNOWN_RESULT}`,
      'tool c: result c',
    ])
    expect(unsound(await env.messages())).toEqual([])
  })

  test('together with all results is one turn of the agent that asked', async () => {
    const tree = setSubAgents(obedient('Desk'), [obedient('Leaf')])
    const env = await waiting('to:Leaf call open:a', tree)
    const { events, end } = await record(env.desk.run({ messages: [resultOf('a'), user('next')] }, session))
    expect(events.filter(({ type }) => type === 'message-end')).toMatchObject([
      { agentName: 'Leaf', runPath: ['Desk'] },
    ])
    expect(end?.text).toBe('heard to:Leaf call open:a | next')
    expect(unsound(await env.messages())).toEqual([])
  })

  test('listed before the results still comes after them in the history', async () => {
    const env = await waiting('call open:a')
    await settled(env.desk.run({ messages: [user('next'), resultOf('a')] }, session))
    expect(unsound(await env.messages())).toEqual([])
  })
})

test('a run that fails or is cancelled on the result of one call answers the others neutrally', async () => {
  const agent: Agent = {
    ...obedient('Desk'),
    run(input, ctx) {
      if (input.messages.at(-1)?.role === 'tool') throw new Error('the agent broke')
      return obedient('Desk').run(input, ctx)
    },
  }
  const env = await waiting('call open:b open:c', agent)
  expect(await settled(env.desk.run({ messages: [resultOf('b')] }, session))).toBe('AGENT_FAILED')
  expect((await env.lines()).slice(2).sort()).toEqual(['tool b: result b', `tool c: ${UNKNOWN_RESULT}`])
  expect(unsound(await env.messages())).toEqual([])
  expect(await openCallsOf(env)).toEqual([])
  expect(await settled(env.desk.query('next', session))).toBe('heard call open:b open:c | next')
})
