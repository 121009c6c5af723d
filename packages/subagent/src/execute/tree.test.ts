import { runNested } from '@troupe/kernel/run'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { agent, calling, completing, eventsOf, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

const usage = (inputTokens: number) => ({ usage: { inputTokens, outputTokens: 0 } })
const idle = () => new Promise((resolve) => setImmediate(resolve))

describe('agents that call agents', () => {
  test('the events of all levels come, each marked with the call around it', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b')],
      scripts: {
        lead: [calling({ id: 'to-a', name: 'a', arguments: { task: 't' } }), 'Done.'],
        a: [calling({ id: 'to-b', name: 'b', arguments: { task: 't' } }), completing('A')],
        b: [completing('B')],
      },
    })
    const { events, statuses } = await s.run()
    expect(new Set(eventsOf(events, 'a').map(({ parentCallId, runPath }) => `${parentCallId} ${runPath}`))).toEqual(
      new Set(['to-a lead']),
    )
    expect(new Set(eventsOf(events, 'b').map(({ parentCallId, runPath }) => `${parentCallId} ${runPath}`))).toEqual(
      new Set(['to-b lead,a']),
    )
    expect(statuses).toMatchObject([{ output: 'A', toolCalls: 1 }])
  })

  test('usage is split into its own and that of the agents below', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'c'] }), agent('b', { tools: ['c'] }), agent('c')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          { ...calling('b'), ...usage(1) },
          { ...completing(), ...usage(10) },
        ],
        b: [
          { ...calling('c'), ...usage(100) },
          { ...completing(), ...usage(1_000) },
        ],
        c: [{ ...completing(), ...usage(10_000) }],
      },
    })
    const { statuses, events } = await s.run()
    expect(statuses).toMatchObject([{ usage: { inputTokens: 11 }, childrenUsage: { inputTokens: 11_100 } }])
    const inner = events.find((event) => event.type === 'tool-end' && event.name === 'b' && event.data)
    expect(inner).toMatchObject({ data: { usage: { inputTokens: 1_100 }, childrenUsage: { inputTokens: 10_000 } } })
  })

  test('the use of other nested runs counts as used below, also for an agent that fails', async () => {
    const other = miniAgent({
      name: 'other',
      description: '',
      instruction: '',
      tools: [],
      handlers: [],
      maxIterations: 9,
      model: scriptedModel([{ text: 'Hi', ...usage(500) }], { repeat: true }),
    })
    const asks = tool('asks', {
      invoke: async (_, ctx) => (await runNested(other, { messages: [] }, ctx, { forward: false })).text,
    })
    const run = async (last: ScriptedTurn) => {
      const scripts = { lead: [calling('a'), 'Done.'], a: [{ ...calling({ name: 'asks' }), ...usage(1) }, last] }
      return (await leadHarness({ agents: [agent('a', { tools: ['asks'] })], tools: [asks], scripts }).run()).statuses
    }
    expect(await run(completing())).toMatchObject([
      { reason: 'goal', usage: { inputTokens: 2 }, childrenUsage: { inputTokens: 500 } },
    ])
    expect(await run({ error: { at: 'before', error: new Error('broken') } })).toMatchObject([
      { reason: 'error', usage: { inputTokens: 1 }, childrenUsage: { inputTokens: 500 } },
    ])
  })
})

describe('depth', () => {
  test('is 3 by default: the fourth level is answered with an error', async () => {
    const names = ['a', 'b', 'c', 'd']
    const scripts = Object.fromEntries(
      names.map((name, i) => [name, [calling(names[i + 1] ?? 'none'), completing(name)]]),
    )
    const s = leadHarness({
      agents: names.map((name) => agent(name, { tools: names })),
      scripts: { ...scripts, lead: [calling('a'), 'Done.'] },
    })
    const { events, statuses } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal', output: 'a' }])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'd')).toMatchObject({
      status: 'failed',
      error: { code: 'SUBAGENT_LIMIT' },
      data: { reason: 'depth', turns: 0 },
    })
    expect(s.models.d?.requests).toHaveLength(0)
  })

  test('an agent that calls itself ends at it', async () => {
    const model = scriptedModel([({ messages }) => (messages.length === 1 ? calling('a') : completing())], {
      repeat: true,
    })
    const s = leadHarness({
      agents: [agent('a', { tools: ['a'] })],
      factory: (spec) => miniAgent({ ...spec, model }),
      scripts: { lead: [calling('a'), 'Done.'] },
    })
    const { events, statuses } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal' }])
    const reasons = events.flatMap((event) =>
      event.type === 'tool-end' && event.name === 'a' ? [(event.data as { reason: string }).reason] : [],
    )
    expect(reasons).toEqual(['depth', 'goal', 'goal', 'goal'])
  })

  test('of an agent in the middle counts from there', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'c'] }), agent('b', { tools: ['c'], limits: { maxDepth: 1 } }), agent('c')],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing()], b: [calling('c'), completing()] },
    })
    const { events } = await s.run()
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'c')).toMatchObject({
      data: {
        reason: 'depth',
        error: { message: 'agent a/b/c: would be level 2 counted from agent a/b, whose maxDepth is 1' },
      },
    })
  })
})

describe('one budget down the tree', () => {
  test('tokens: a child ends when those of an agent above are spent, without a grace turn; the one above gets its own', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'look'], limits: { maxTokens: 100 } }), agent('b', { tools: ['look'] })],
      tools: [tool('look')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [{ ...calling('b'), ...usage(10) }, completing('Half.')],
        b: [{ ...calling({ name: 'look' }), ...usage(95) }, completing()],
      },
    })
    const { statuses, events } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'max-tokens', recovered: true, output: 'Half.' }])
    const inner = events.find((event) => event.type === 'tool-end' && event.name === 'b')
    expect(inner).toMatchObject({
      data: {
        reason: 'max-tokens',
        recovered: false,
        turns: 1,
        error: { message: 'agent a: used 105 of 100 tokens' },
      },
    })
  })

  test('tool calls: those of all levels count, and the call itself', async () => {
    const looks = { count: 0 }
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'look'], limits: { maxToolCalls: 3 } }), agent('b', { tools: ['look'] })],
      tools: [tool('look', { invoke: () => `${++looks.count}` })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing('Half.')],
        b: [calling({ name: 'look' }, { name: 'look' }, { name: 'look' }), completing()],
      },
    })
    const { statuses, events } = await s.run()
    expect(looks.count).toBe(2)
    expect(statuses).toMatchObject([{ reason: 'max-tool-calls', recovered: true, toolCalls: 1 }])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'b')).toMatchObject({
      data: { reason: 'max-tool-calls', recovered: false, toolCalls: 2 },
    })
  })

  test('time: a child cannot outlive its caller; the caller has its grace turn, the child has none', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'], limits: { timeoutMs: 50 } }), agent('b', { limits: { timeoutMs: 1_000 } })],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing('Half.')], b: [{ hang: 'before' }] },
    })
    const running = s.run()
    await idle()
    s.clock.advance(50)
    const { statuses } = await running
    expect(statuses).toMatchObject([{ reason: 'timeout', recovered: true, durationMs: 50 }])
    expect([s.models.b?.requests.length, s.clock.pending]).toEqual([1, 0])
  })

  test('a child with less than its caller has its own limit and grace turn', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'look'] }), agent('b', { tools: ['look'], limits: { maxTurns: 1 } })],
      tools: [tool('look')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [calling({ name: 'look' }), completing('B')],
      },
    })
    const { statuses, events } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal' }])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'b')).toMatchObject({
      data: { reason: 'max-turns', recovered: true },
    })
  })
})

test('a hundred agents at once each submit their own result', async () => {
  const calls = Array.from({ length: 100 }, (_, i) => ({ name: 'a', arguments: { task: `${i}` } }))
  const s = leadHarness({
    agents: [agent('a', { tools: ['b'] }), agent('b')],
    factory: (spec) =>
      miniAgent({
        ...spec,
        model: scriptedModel(
          [
            ({ messages }) =>
              spec.name === 'a' && messages.length === 1
                ? calling({ name: 'b', arguments: { task: `b${messages[0]?.content}` } })
                : completing(`${spec.name}${messages[0]?.content}`),
          ],
          { repeat: true },
        ),
      }),
    scripts: { lead: [calling(...calls), 'Done.'] },
  })
  const { results } = await s.run()
  const byCall = new Map(results.map(({ callId, content }) => [callId, content]))
  expect(calls.map((_, i) => byCall.get(`call-${i + 1}`))).toEqual(calls.map((_, i) => `a${i}`))
})
