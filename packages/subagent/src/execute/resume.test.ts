import type { AgentFactory, Tool, ToolCallResult } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { tool } from '../subagent.fixture.ts'

const asking = (log: string[] = []): Tool =>
  tool('ask', {
    async invoke(_, ctx, { callId }) {
      const answer = await ctx.interrupt({ reason: 'input', message: 'Sure?' })
      log.push(`asked ${callId}`)
      return `heard ${answer}`
    },
  })
const usage = { usage: { inputTokens: 10, outputTokens: 0 } }

describe('a question of an agent comes out, and its answer goes in', () => {
  test('in another process the agent continues where it stopped; turns, calls, tokens and time keep counting', async () => {
    const log: string[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['ask', 'look'] })],
      tools: [
        asking(log),
        tool('look', {
          invoke: () => {
            s.clock.advance(70)
            return `${log.push('look')}`
          },
        }),
      ],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          { ...calling({ name: 'look' }), ...usage },
          { ...calling({ id: 'q', name: 'ask' }, { name: 'look' }), ...usage },
          { ...completing('Sure.'), ...usage },
        ],
      },
    })
    const first = await s.run()
    expect([first.end?.outcome, first.asked, log]).toEqual([
      'interrupted',
      [expect.stringMatching(/^call-1\/q#/)],
      ['look', 'look'],
    ])
    s.clock.advance(1_000_000)
    const second = await s.resume({ [first.asked[0] as string]: 'yes' })
    expect(log).toEqual(['look', 'look', 'asked q'])
    expect(second.statuses).toMatchObject([
      {
        reason: 'goal',
        recovered: false,
        turns: 3,
        toolCalls: 3,
        durationMs: 140,
        usage: { inputTokens: 30 },
        output: 'Sure.',
      },
    ])
    expect(s.models.a?.requests).toHaveLength(3)
    expect(s.models.a?.requests[2]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'tool',
    ])
  })

  test('a finished sibling is not repeated', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['ask'] }), agent('b')],
      tools: [asking()],
      scripts: {
        lead: [calling('a', 'b'), 'Done.'],
        a: [calling({ id: 'q', name: 'ask' }), completing('A')],
        b: [completing('B')],
      },
    })
    const first = await s.run()
    expect(first.results.map(({ name }) => name)).toEqual(['b'])
    const second = await s.resume({ [first.asked[0] as string]: 1 })
    expect(second.results.map(({ name, content }) => [name, content])).toEqual([['a', 'A']])
    expect(s.models.b?.requests).toHaveLength(1)
  })

  test('two levels down, with the use of each agent', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'ask'] }), agent('b', { tools: ['ask'] })],
      tools: [asking()],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          { ...calling('b'), ...usage },
          { ...completing('A'), ...usage },
        ],
        b: [
          { ...calling({ id: 'q', name: 'ask' }), ...usage },
          { ...completing('B'), ...usage },
        ],
      },
    })
    const first = await s.run()
    const second = await s.resume({ [first.asked[0] as string]: 1 })
    expect(second.statuses).toMatchObject([
      { output: 'A', turns: 2, toolCalls: 1, usage: { inputTokens: 20 }, childrenUsage: { inputTokens: 20 } },
    ])
    const inner = second.events.find((event) => event.type === 'tool-end' && event.name === 'b')
    expect(inner).toMatchObject({
      data: { turns: 2, toolCalls: 1, usage: { inputTokens: 20 }, childrenUsage: { inputTokens: 0 } },
    })
  })

  test('several questions one after the other', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['ask'] })],
      tools: [asking()],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling({ id: 'q1', name: 'ask' }), calling({ id: 'q2', name: 'ask' }), completing()],
      },
    })
    const first = await s.run()
    expect(first.asked).toEqual([expect.stringMatching(/^call-1\/q1#/)])
    const second = await s.resume({ [first.asked[0] as string]: 1 })
    expect(second.asked).toEqual([expect.stringMatching(/^call-1\/q2#/)])
    expect((await s.resume({ [second.asked[0] as string]: 2 })).statuses).toMatchObject([
      { reason: 'goal', turns: 3, toolCalls: 2 },
    ])
  })

  test('handing in beside a question counts when the question is answered', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['ask'] })],
      tools: [asking()],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          calling(
            { id: 'q', name: 'ask' },
            { name: 'complete_task', arguments: { result: 'Early.' } },
            { name: 'complete_task', arguments: { result: 'Late.' } },
          ),
        ],
      },
    })
    const first = await s.run()
    expect(first.end?.outcome).toBe('interrupted')
    expect((await s.resume({ [first.asked[0] as string]: 1 })).statuses).toMatchObject([
      { reason: 'goal', output: 'Early.', turns: 1 },
    ])
  })

  test('a long-running call waits for its result, and the use before it still counts', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['slow'], limits: { maxTurns: 2 } })],
      tools: [{ ...tool('slow'), longRunning: true }],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          { ...calling({ id: 's', name: 'slow' }), ...usage },
          { ...completing('Slowly.'), ...usage },
        ],
      },
    })
    const first = await s.run()
    expect([first.end?.outcome, first.asked]).toEqual(['interrupted', ['call-1/s#result']])
    expect((await s.resume({ 'call-1/s#result': 'R' })).statuses).toMatchObject([
      { reason: 'goal', output: 'Slowly.', turns: 2, toolCalls: 1, usage: { inputTokens: 20 } },
    ])
    expect(s.models.a?.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'R' })
  })
})

describe('limits hold over a question', () => {
  const over = (limits: object) =>
    leadHarness({
      agents: [agent('a', { tools: ['ask', 'look'], limits })],
      tools: [asking(), tool('look')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          calling({ name: 'look' }),
          { ...calling({ id: 'q', name: 'ask' }), ...usage },
          calling({ name: 'look' }),
          calling({ name: 'look' }),
          completing(),
        ],
      },
    })

  test.each<[string, object, number]>([
    ['max-turns', { maxTurns: 3 }, 4],
    ['max-tokens', { maxTokens: 14 }, 4],
    ['max-tool-calls', { maxToolCalls: 3 }, 5],
  ])('%s', async (reason, limits, turns) => {
    const s = over(limits)
    const first = await s.run()
    const { statuses } = await s.resume({ [first.asked[0] as string]: 1 })
    expect(statuses).toMatchObject([{ reason, turns }])
  })

  test('time used before the question counts', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['ask', 'look'], limits: { timeoutMs: 100 } })],
      tools: [
        asking(),
        tool('look', {
          invoke: () => {
            s.clock.advance(60)
            return 'looked'
          },
        }),
      ],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling({ name: 'look' }), calling({ id: 'q', name: 'ask' }), calling({ name: 'look' }), completing()],
      },
    })
    const first = await s.run()
    expect(s.clock.pending).toBe(0)
    s.clock.advance(1_000_000)
    const { statuses } = await s.resume({ [first.asked[0] as string]: 1 })
    expect(statuses).toMatchObject([{ reason: 'timeout', durationMs: 120 }])
  })
})

test('in a run that cannot wait, the question is a failed call for the model and the agent continues', async () => {
  const s = leadHarness({
    agents: [agent('a', { tools: ['ask'] })],
    tools: [asking()],
    scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'ask' }), completing('Alone.')] },
  })
  const { statuses, end } = await s.run({ canInterrupt: false })
  expect([statuses[0]?.output, end?.outcome]).toEqual(['Alone.', 'complete'])
})

test('an agent that asks outside of a call and cannot resume runs again from its start, with its answer', async () => {
  const runs: number[] = []
  const simple: AgentFactory = ({ name, description, tools }) => ({
    name,
    description,
    async *run({ messages }, ctx) {
      runs.push(messages.length)
      const answer = await ctx.interrupt({ reason: 'input' })
      const call = { id: 'done', name: 'complete_task', arguments: JSON.stringify({ result: answer }) }
      yield { type: 'message-end', message: { id: ctx.ids.next(), role: 'assistant', content: '', toolCalls: [call] } }
      const scope = { callId: 'done', onAction() {}, onInterrupt() {} }
      const output = await tools.at(-1)?.tool.invoke?.({ result: answer }, ctx.derive({ call: scope }), {} as never)
      const end = { type: 'tool-end', callId: 'done', messageId: ctx.ids.next(), name: 'complete_task' } as const
      yield { ...end, status: 'complete', ...(output as ToolCallResult) }
    },
  })
  const s = leadHarness({ agents: [agent('a')], factory: simple, scripts: { lead: [calling('a'), 'Done.'] } })
  const { asked, end } = await s.run()
  expect(end?.outcome).toBe('interrupted')
  const { statuses } = await s.resume({ [asked[0] as string]: 'Yes.' })
  expect([statuses, runs]).toMatchObject([[{ reason: 'goal', output: 'Yes.', turns: 1 }], [1, 1]])
})
