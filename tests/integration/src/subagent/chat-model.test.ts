import { chatModelAgent } from '@troupe/chat-model'
import { KernelError } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { AgentRegistry } from '@troupe/subagent'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ANN, agent, calling, completing, office, tool } from './office.fixture.ts'

const look = calling({ name: 'look' })
const usage = { usage: { inputTokens: 10, outputTokens: 0 } }

describe('with the ChatModel agent as factory', () => {
  test('the status reports the outcome, and the model sees only its own tools', async () => {
    const { ask, models } = office({
      agents: [agent('a', { tools: ['look'], prompt: 'Do this: ${task}', output: z.object({ n: z.number() }) })],
      tools: [tool('look'), tool('other')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          look,
          calling({ name: 'complete_task', arguments: { n: 'x' } }),
          calling({ name: 'complete_task', arguments: { n: 4 } }),
        ],
      },
    })
    const { statuses, end } = await ask()
    expect([statuses, end?.text]).toMatchObject([
      [{ reason: 'goal', output: { n: 4 }, turns: 3, toolCalls: 1 }],
      'Done.',
    ])
    const requests = models.a?.requests ?? []
    expect(requests[0]?.instruction).toMatch(/^Do this: Do a\.\n\nYou work alone/)
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'complete_task'])
    expect(requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', error: { code: 'VALIDATION_FAILED' } })
  })

  test.each<[string, object, readonly string[]]>([
    ['max-turns', { maxTurns: 2 }, ['a MAX_ITERATIONS']],
    ['max-tokens', { maxTokens: 15 }, ['a SUBAGENT_LIMIT']],
    ['max-tool-calls', { maxToolCalls: 1 }, ['a SUBAGENT_LIMIT']],
  ])('%s: the run of the agent ends with its own code, the grace turn delivers', async (reason, limits, errors) => {
    const script = [{ ...look, ...usage }, { ...look, ...usage }, completing('Half.')]
    const { ask, models } = office({
      agents: [agent('a', { tools: ['look'], limits })],
      tools: [tool('look')],
      scripts: { lead: [calling('a'), 'Done.'], a: script },
    })
    const recording = await ask()
    expect(recording.statuses).toMatchObject([{ reason, recovered: true, turns: 3, output: 'Half.' }])
    expect([recording.errors, recording.end?.outcome]).toEqual([errors, 'complete'])
    expect(models.a?.requests[2]).toMatchObject({
      tools: [{ name: 'complete_task' }],
      options: { toolChoice: { tool: 'complete_task' } },
    })
  })

  test('time: a silent model is cut off', async () => {
    const { ask } = office({
      agents: [agent('a', { limits: { timeoutMs: 20 } })],
      scripts: { lead: [calling('a'), 'Done.'], a: [{ hang: 'before' }, completing('Half.')] },
    })
    const recording = await ask()
    expect([recording.statuses, recording.errors]).toMatchObject([
      [{ reason: 'timeout', recovered: true }],
      ['a TIMEOUT'],
    ])
  })

  test('time: the words of a model that is cut off are known to its grace turn, and are its last words without a result', async () => {
    const talking = { text: ['I have ', 'found ', 'it.'], hang: 'mid' } as const
    const run = async (...grace: Parameters<typeof scriptedModel>[0]) => {
      const { ask, models } = office({
        agents: [agent('a', { limits: { timeoutMs: 20 } })],
        scripts: { lead: [calling('a'), 'Done.'], a: [talking, ...grace] },
      })
      const { statuses } = await ask()
      return { statuses, request: models.a?.requests[1] }
    }
    const { statuses, request } = await run(completing('Half.'))
    expect(statuses).toMatchObject([{ reason: 'timeout', recovered: true, turns: 1 }])
    expect(request?.messages.at(-2)).toMatchObject({ role: 'assistant', content: 'I have found ', partial: true })
    expect((await run({ error: { at: 'before', error: new Error('no key') } })).statuses).toMatchObject([
      { reason: 'timeout', recovered: false, turns: 0, lastWords: 'I have found' },
    ])
  })

  test('a tool that streams counts and is bounded like any other', async () => {
    async function* chunks() {
      yield 'one '
      yield 'two'
    }
    const { ask } = office({
      agents: [agent('a', { tools: ['look'], limits: { maxToolCalls: 1 } })],
      tools: [tool('look', { stream: chunks })],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'look' }, { name: 'look' }), completing()] },
    })
    const { statuses, events } = await ask()
    expect(statuses).toMatchObject([{ reason: 'max-tool-calls', toolCalls: 1 }])
    expect(
      events.flatMap((event) => (event.type === 'tool-end' && event.name === 'look' ? [event.status] : [])).sort(),
    ).toEqual(['complete', 'failed'])
  })

  test('a retry of the model is one turn', async () => {
    const flaky = scriptedModel([
      { error: { at: 'mid', error: new KernelError('MODEL_FAILED', 'down', { retryable: true }) } },
      completing('X'),
    ])
    const registry = new AgentRegistry({ factory: (spec) => chatModelAgent({ ...spec, retry: () => 0 }), model: flaky })
    registry.registerAgent(agent('a'))
    const lead = chatModelAgent({
      name: 'lead',
      model: scriptedModel([calling('a'), 'Done.']),
      tools: registry.tools(),
    })
    const events = []
    for await (const event of startRun(lead, { messages: [] }).eventsWithoutThrowing()) events.push(event)
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'a')).toMatchObject({
      data: { reason: 'goal', turns: 1 },
    })
  })

  test('two completions in one turn: the first wins', async () => {
    const { ask } = office({
      agents: [agent('a')],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling(...['one', 'two'].map((result) => ({ name: 'complete_task', arguments: { result } })))],
      },
    })
    expect((await ask()).statuses).toMatchObject([{ reason: 'goal', output: 'one' }])
  })
})

describe('a question inside an agent', () => {
  const bank = (paid: string[]) =>
    office({
      agents: [
        agent('a', { tools: ['b', 'pay', 'look'] }),
        agent('b', { tools: ['pay', 'look'], limits: { maxTurns: 3 } }),
        agent('c'),
      ],
      tools: [
        tool('pay', { needsApproval: () => true, invoke: (_, __, { callId }) => `${paid.push(callId)}` }),
        tool('look', { invoke: () => `${paid.push('look')}` }),
      ],
      scripts: {
        lead: [calling('a', 'c'), 'Done.'],
        a: [
          { ...calling('b'), ...usage },
          { ...completing('A'), ...usage },
        ],
        b: [
          { ...calling({ id: 'p', name: 'pay' }, { name: 'look' }), ...usage },
          { ...look, ...usage },
          { ...completing('B'), ...usage },
        ],
        c: [completing('C')],
      },
    })

  test('two levels down is answered in another process; nothing finished is repeated, and everything keeps counting', async () => {
    const paid: string[] = []
    const { ask, answer, move, models } = bank(paid)
    const first = await ask()
    expect([first.end?.outcome, first.asked, paid]).toEqual(['interrupted', [expect.stringMatching(/\/p#/)], ['look']])
    await move()
    const second = await answer({ [first.asked[0] as string]: { approved: true } })
    expect([second.end?.outcome, paid]).toEqual(['complete', ['look', 'p', 'look']])
    expect(second.statuses).toMatchObject([
      {
        agent: 'a',
        reason: 'goal',
        turns: 2,
        toolCalls: 1,
        usage: { inputTokens: 20 },
        childrenUsage: { inputTokens: 30 },
      },
    ])
    expect(second.events.find((event) => event.type === 'tool-end' && event.name === 'b')).toMatchObject({
      data: { reason: 'goal', turns: 3, toolCalls: 3, usage: { inputTokens: 30 } },
    })
    expect(['a', 'b', 'c'].map((name) => models[name]?.requests.length)).toEqual([2, 3, 1])
  })

  test('refused: the agent gets the refusal and continues', async () => {
    const paid: string[] = []
    const { ask, answer, move } = bank(paid)
    const { asked } = await ask()
    await move()
    expect((await answer({ [asked[0] as string]: { approved: false } })).end?.outcome).toBe('complete')
    expect(paid).toEqual(['look', 'look'])
  })

  test('a long-running call is answered in another process', async () => {
    const { ask, answer, move } = office({
      agents: [agent('a', { tools: ['slow'] })],
      tools: [tool('slow', { longRunning: true })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          { ...calling({ id: 's', name: 'slow' }, { id: 's2', name: 'slow' }), ...usage },
          { ...completing('Slowly.'), ...usage },
        ],
      },
    })
    const first = await ask()
    expect(first.asked.map((id) => id.replace(/^.*\//, ''))).toEqual(['s#result', 's2#result'])
    await move()
    const second = await answer({ [first.asked[0] as string]: 'R1', [first.asked[1] as string]: 'R2' })
    expect(second.statuses).toMatchObject([
      { reason: 'goal', turns: 2, toolCalls: 2, usage: { inputTokens: 20 }, output: 'Slowly.' },
    ])
  })

  test('long-running calls answered one by one', async () => {
    const { ask, answer, move } = office({
      agents: [agent('a', { tools: ['slow'] })],
      tools: [tool('slow', { longRunning: true })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [{ ...calling({ id: 's', name: 'slow' }, { id: 's2', name: 'slow' }), ...usage }, completing('Slowly.')],
      },
    })
    const first = await ask()
    await move()
    const second = await answer({ [first.asked[0] as string]: 'R1' })
    expect(second.asked).toEqual([first.asked[1]])
    await move()
    expect((await answer({ [first.asked[1] as string]: 'R2' })).statuses).toMatchObject([
      { reason: 'goal', turns: 2, toolCalls: 2 },
    ])
  })

  test('handing in beside a question counts once it is answered', async () => {
    const { ask, answer, move } = office({
      agents: [agent('a', { tools: ['pay'] })],
      tools: [tool('pay', { needsApproval: () => true })],
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling({ name: 'pay' }, { name: 'complete_task', arguments: { result: 'Early.' } })],
      },
    })
    const { asked } = await ask()
    await move()
    expect((await answer({ [asked[0] as string]: { approved: true } })).statuses).toMatchObject([
      { reason: 'goal', output: 'Early.', turns: 1 },
    ])
  })
})

test.each(['now', 'after-model', 'after-tools'] as const)(
  'cancel %s reaches the agents inside, and none of them gets a grace turn',
  async (mode) => {
    const { ask, models } = office({
      agents: [agent('a', { tools: ['b', 'look'] }), agent('b', { tools: ['look'] })],
      tools: [
        tool('look', {
          invoke: (_, ctx) =>
            mode === 'now'
              ? new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
              : 'looked',
        }),
      ],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing()], b: [look, completing()] },
      onEvent(event, { runner }) {
        if (event.type === 'tool-start' && event.name === 'look') void runner.cancel(ANN, { mode })
      },
    })
    const { end } = await ask()
    expect(end?.outcome).toBe('cancelled')
    expect(['lead', 'a', 'b'].map((name) => models[name]?.requests.length)).toEqual([1, 1, 1])
  },
)

test('a hundred agents at once in one parent, each with its own result', async () => {
  const calls = Array.from({ length: 100 }, (_, i) => ({ id: `c${i}`, name: 'a', arguments: { task: `${i}` } }))
  const { ask } = office({
    agents: [agent('a')],
    lead: { toolConcurrency: 100 },
    scripts: {
      lead: [calling(...calls), 'Done.'],
      a: Array(100).fill(({ messages }: { messages: readonly { content: unknown }[] }) =>
        completing(`r${messages[0]?.content}`),
      ),
    },
  })
  const { events } = await ask()
  const results = new Map(
    events.flatMap((event) => (event.type === 'tool-end' && event.name === 'a' ? [[event.callId, event.content]] : [])),
  )
  expect(calls.map(({ id }) => results.get(id))).toEqual(calls.map((_, i) => `r${i}`))
})
