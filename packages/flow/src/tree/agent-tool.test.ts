import { type Agent, type AgentAction, type JsonSchema, KernelError, say } from '@troupe/kernel'
import { toJsonSchema } from '@troupe/kernel/kit'
import { testTool } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  agentOf,
  asking,
  failing,
  quiet,
  type RecordedRun,
  runToEnd,
  slow,
  talker,
  textsOf,
  thrownBy,
  transferring,
  yielding,
} from '../flow.fixture.ts'
import { type AgentToolOptions, agentTool, loop, sequential, setSubAgents } from '../index.ts'
import { type ScriptedAgent, scriptedAgent } from '../scripted-agent.fixture.ts'

testTool('agentTool', () => agentTool(talker('inner')), { args: { request: 'Hi' }, invalid: [{}, { request: 1 }] })

/** An agent that calls another one as a tool, then says that it is done. */
const outer = (inner: Agent, options?: AgentToolOptions, args: object = { request: 'Go.' }) =>
  scriptedAgent(
    'outer',
    [[{ name: options?.name ?? inner.name, args: args as never }], 'Done.'],
    agentTool(inner, options),
  )
const results = ({ events }: RecordedRun) => events.flatMap((event) => (event.type === 'tool-end' ? [event] : []))

describe('what it shows', () => {
  test('name, description and one parameter, unless said otherwise', () => {
    const { name, description, parameters, effect } = agentTool(talker('inner'))
    expect([name, description, effect]).toEqual(['inner', 'inner runs.', 'nested'])
    expect(toJsonSchema(parameters)).toMatchObject({
      type: 'object',
      properties: { request: { type: 'string' } },
      required: ['request'],
    })
    expect(agentTool(talker('inner'), { name: 'n', description: 'd' })).toMatchObject({ name: 'n', description: 'd' })
  })

  test.each<[string, () => unknown]>([
    ['parameters that are no object', () => agentTool(talker('a'), { parameters: { type: 'string' } })],
    ['parameters that are no schema', () => agentTool(talker('a'), { parameters: 3 as never })],
  ])('%s are SCHEMA_INVALID', (_, build) => {
    expect(thrownBy(build)).toMatch(/^SCHEMA_INVALID/)
  })

  test('no agent is CONFIG_INVALID', () => {
    expect(thrownBy(() => agentTool(undefined as never))).toMatch(/^CONFIG_INVALID/)
  })

  test('an agent without run() is CONFIG_INVALID', () => {
    expect(thrownBy(() => agentTool({ name: 'x', description: '' } as never))).toMatch(/^CONFIG_INVALID/)
  })
})

describe('its history is its own', () => {
  const seen = ({ inputs }: ScriptedAgent) => textsOf(inputs[0]?.messages ?? [])

  test('it sees the request as a user message, and nothing else', async () => {
    const inner = scriptedAgent('inner', ['Hi.'])
    await runToEnd(sequential({ name: 'steps', agents: [talker('x'), outer(inner)] }))
    expect(seen(inner)).toEqual(['user: Go.'])
  })

  test('parameters of its own come as JSON', async () => {
    const parameters: JsonSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const inner = scriptedAgent('inner', ['Hi.'])
    await runToEnd(outer(inner, { parameters }, { city: 'Beijing' }))
    expect(seen(inner)).toEqual(['user: {"city":"Beijing"}'])
  })

  test('each call starts with a new history, and its messages are not in the outer history', async () => {
    const inner = scriptedAgent('inner', ['First.', 'Second.'])
    const twice = scriptedAgent(
      'outer',
      [
        [
          { name: 'inner', args: { request: '1' } },
          { name: 'inner', args: { request: '2' } },
        ],
        'Done.',
      ],
      agentTool(inner, { forward: true }),
    )
    const { said } = await runToEnd(twice)
    expect(inner.inputs.map(({ messages }) => textsOf(messages))).toEqual([['user: 1'], ['user: 2']])
    expect(said.slice(1)).toEqual(['outer: First.', 'outer: First.', 'outer: Done.'])
  })

  test('its answer is the result: the text, and the output as data', async () => {
    const exiting = agentOf('inner', async function* (ctx) {
      yield* say(ctx, 'Text.')
      yield { type: 'action', action: { type: 'exit', result: { n: 1 } } }
    })
    expect(results(await runToEnd(outer(exiting)))).toMatchObject([{ content: 'Text.', data: { n: 1 } }])
    expect(results(await runToEnd(outer(talker('inner', 'Only text.'))))[0]).not.toHaveProperty('data')
  })

  test('an agent without a message gives an empty result', async () => {
    expect(results(await runToEnd(outer(scriptedAgent('inner', []))))).toMatchObject([
      { status: 'complete', content: '' },
    ])
  })
})

describe('its actions stay inside', () => {
  test.each<AgentAction>([
    { type: 'exit', result: 'X' },
    { type: 'break-loop' },
    { type: 'transfer-to-agent', agentName: 'x' },
  ])('$type', async (action) => {
    const rounds = loop({
      name: 'rounds',
      agents: [outer(yielding('inner', action), { forward: true })],
      maxIterations: 1,
    })
    const { turns, end } = await runToEnd(sequential({ name: 'steps', agents: [rounds, talker('x')] }))
    expect([turns, end?.text]).toEqual([['steps', 'steps/rounds', 'steps/rounds/outer', 'steps/x'], 'I am x.'])
    expect(end).not.toHaveProperty('output')
  })

  test('a transfer inside its own tree is made there', async () => {
    const tree = setSubAgents(transferring('inner', 'leaf'), [talker('leaf')])
    expect(results(await runToEnd(outer(tree)))).toMatchObject([{ content: 'I am leaf.' }])
  })
})

describe('forward', () => {
  test('off: nothing of it is seen', async () => {
    const { events } = await runToEnd(outer(talker('inner')))
    expect(events.filter(({ agentName }) => agentName !== 'outer')).toEqual([])
  })

  test('on: its events have its own path and run, marked with the call', async () => {
    const { events, end } = await runToEnd(outer(talker('inner'), { forward: true }))
    const inner = events.filter(({ agentName }) => agentName === 'inner')
    expect(inner.map(({ type }) => type)).toEqual([
      'run-start',
      'agent-start',
      'message-start',
      'text-delta',
      'message-end',
      'agent-end',
      'run-end',
    ])
    for (const { runPath, parentCallId, runId } of inner) {
      expect({ runPath, parentCallId, runId }).toEqual({
        runPath: ['outer'],
        parentCallId: 'inner',
        runId: expect.stringMatching(/^R\/tool:/),
      })
    }
    expect(end?.text).toBe('Done.')
  })
})

describe('state', () => {
  test.each([false, true])('is shared, both ways, and reported (forward: %s)', async (forward) => {
    const inner = quiet('inner', (ctx) => ctx.state.set('k', [ctx.state.get('k') ?? null, 'inner']))
    const look = quiet('look', (ctx) => ctx.state.set('seen', ctx.state.get('k') ?? null))
    const { lines } = await runToEnd(
      sequential({ name: 'steps', agents: [outer(inner, { forward }), look] }),
      undefined,
      {
        state: { k: 'old' },
      },
    )
    expect(lines.filter((line) => line.includes('state-delta')).map((line) => line.trim())).toEqual([
      'steps/outer/inner state-delta {"k":["old","inner"]}',
      'steps/look state-delta {"seen":["old","inner"]}',
    ])
  })
})

describe('its questions come out', () => {
  const asker = () => scriptedAgent('inner', [['ask'], 'Heard.'], asking())

  test('and its answer goes in: it goes on where it stopped', async () => {
    const inner = asker()
    const first = await runToEnd(outer(inner))
    expect(first.end).toMatchObject({
      outcome: 'interrupted',
      interrupts: [{ id: expect.stringMatching(/^inner\/ask#/), callId: 'inner' }],
    })
    const second = await runToEnd(outer(inner), first.resume({ inner: 'yes' }), { runId: 'R2' })
    expect(second.said).toEqual(['outer: Heard.', 'outer: Done.'])
    expect(textsOf(inner.inputs[1]?.messages ?? [])).toEqual(['user: Go.', 'inner: ask({})'])
  })

  test('two deep', async () => {
    const mid = () =>
      scriptedAgent('mid', [[{ name: 'inner', args: { request: 'Deep.' } }], 'Mid.'], agentTool(asker()))
    const first = await runToEnd(outer(mid()))
    expect(first.end?.interrupts).toMatchObject([{ id: expect.stringMatching(/^mid\/inner\/ask#/), callId: 'mid' }])
    const second = await runToEnd(outer(mid()), first.resume({ mid: 1 }), { runId: 'R2' })
    expect(second.said).toEqual(['outer: Mid.', 'outer: Done.'])
  })

  test('of a long-running call inside, as one of reason tool-result', async () => {
    const inner = () => scriptedAgent('inner', [['slow'], 'Done inside.'], slow())
    const first = await runToEnd(outer(inner()))
    expect(first.end?.interrupts).toMatchObject([{ id: 'inner/slow#result', reason: 'tool-result' }])
    const second = await runToEnd(outer(inner()), first.resume({ 'inner/slow#result': 'R' }), { runId: 'R2' })
    expect(second.said).toEqual(['outer: Done inside.', 'outer: Done.'])
  })

  test('of a workflow inside: what had finished there is not run again', async () => {
    const x = scriptedAgent('x', ['X.'])
    const inner = () => sequential({ name: 'inner', agents: [x, asker2(), talker('y')] })
    const asker2 = () => scriptedAgent('a', [['ask'], 'Heard.'], asking())
    const first = await runToEnd(outer(inner()))
    const second = await runToEnd(outer(inner()), first.resume({ inner: 1 }), { runId: 'R2' })
    expect([second.said, x.inputs.length]).toEqual([['outer: I am y.', 'outer: Done.'], 1])
  })
})

describe('a failed run is a failed call', () => {
  test('which throws its error', async () => {
    const { errors } = await runToEnd(outer(failing('inner', new KernelError('MINE', 'mine: no'))))
    expect(errors).toMatchObject([{ code: 'MINE' }])
  })

  test('also when a transfer inside goes nowhere', async () => {
    const tree = setSubAgents(transferring('inner', 'stranger'), [talker('leaf')])
    expect((await runToEnd(outer(tree))).errors).toMatchObject([{ code: 'TRANSFER_TARGET_UNKNOWN' }])
  })
})

test('the conversation of a caller that does not give it to its tools cannot be passed on: the call fails and says why', async () => {
  const { end } = await runToEnd(outer(talker('inner'), { history: true }))
  const message = expect.stringContaining('history: works in tools of an agent that gives them its messages')
  expect(end?.error).toMatchObject({ code: 'CONFIG_INVALID', message })
})
