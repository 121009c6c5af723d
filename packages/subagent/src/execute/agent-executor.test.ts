import { KernelError } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { AgentExecutor } from '../index.ts'
import { agent, calling, completing, leadHarness, type RunRecording } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

type Options = Parameters<typeof agent>[1]
type Script = Parameters<typeof scriptedModel>[0]

/** One call of an agent `a` with a script. */
const run = (options: Options, script: Script): Promise<RunRecording> =>
  leadHarness({
    agents: [agent('a', options)],
    tools: [tool('look')],
    scripts: { lead: [calling('a'), 'Done.'], a: script },
  }).run()
const answersIn = ({ events }: RunRecording) =>
  events.flatMap((event) => (event.type === 'tool-end' && event.name === 'complete_task' ? [event] : []))
const handIn = (args: Record<string, unknown> | readonly string[], id?: string) =>
  ({ name: 'complete_task', arguments: args as never, ...(id && { id }) }) as const

describe('the completion tool', () => {
  test('without an output schema takes one text', async () => {
    const { statuses } = await run({}, [completing('Found.')])
    expect(statuses).toMatchObject([{ reason: 'goal', recovered: false, output: 'Found.' }])
  })

  test('takes the output schema as its arguments, and the result is the output', async () => {
    const output = z.object({ files: z.array(z.string()), sure: z.boolean() })
    const { statuses, results } = await run({ output }, [calling(handIn({ files: ['a.ts'], sure: true }))])
    expect(statuses).toMatchObject([{ reason: 'goal', output: { files: ['a.ts'], sure: true } }])
    expect(results[0]).toMatchObject({
      content: '{"files":["a.ts"],"sure":true}',
      display: expect.stringContaining('```json\n{\n  "files"'),
    })
  })

  test.each<[string, Options, unknown, unknown]>([
    ['JSON Schema of a list', { output: { type: 'array', items: { type: 'number' } } }, [1, 2], ['x']],
    ['a Standard Schema of a number', { output: z.number().min(3) }, 4, 1],
    ['JSON Schema with definitions', { output: { $ref: '#/$defs/n', $defs: { n: { type: 'integer' } } } }, 4, 'four'],
  ])('takes { result } for %s', async (_, options, right, wrong) => {
    const recording = await run(options, [calling(handIn({ result: wrong })), calling(handIn({ result: right }))])
    expect(recording.statuses).toMatchObject([{ reason: 'goal', output: right, turns: 2 }])
    expect(answersIn(recording)).toMatchObject([{ error: { code: 'VALIDATION_FAILED' } }, { status: 'complete' }])
  })

  test('a default or a transform of the schema is in the output', async () => {
    const output = z.object({ n: z.number().default(7), s: z.string().transform((text) => text.trim()) })
    const { statuses } = await run({ output }, [calling(handIn({ s: ' x ' }))])
    expect(statuses).toMatchObject([{ output: { n: 7, s: 'x' } }])
  })

  test('a transform that gives no JSON is an error that says so', async () => {
    const output = z.object({ day: z.string().transform((text) => new Date(text)) })
    const recording = await run({ output }, [calling(handIn({ day: '2026-01-01' })), 'Hm.', 'Hm.'])
    expect(answersIn(recording)[0]).toMatchObject({
      error: { code: 'SCHEMA_INVALID', message: expect.stringContaining('.day') },
    })
    expect(recording.statuses).toMatchObject([{ reason: 'error' }])
  })

  test('errors are fed back under the same call id, and the model tries again', async () => {
    const recording = await run({}, [
      calling(handIn({}, 'k1')),
      calling(handIn(['not JSON'], 'k2')),
      calling(handIn({ result: 'x' }, 'k3')),
    ])
    expect(answersIn(recording).map(({ callId, status }) => [callId, status])).toEqual([
      ['k1', 'failed'],
      ['k2', 'failed'],
      ['k3', 'complete'],
    ])
    expect(recording.statuses).toMatchObject([{ reason: 'goal', turns: 3 }])
  })

  test.each<[string, Options, Record<string, unknown>]>([
    ['a blank text', {}, { result: ' \n\t' }],
    ['an empty text', {}, { result: '' }],
    ['nothing but blank fields', { output: z.object({ a: z.string(), b: z.string() }) }, { a: ' ', b: '' }],
  ])('whitespace-only results are not success: %s', async (_, options, args) => {
    const recording = await run(options, [calling(handIn(args)), 'I give up.', calling(handIn(args))])
    expect(answersIn(recording).map(({ error }) => error?.code)).toEqual(['VALIDATION_FAILED', 'VALIDATION_FAILED'])
    expect(recording.statuses).toMatchObject([
      { reason: 'error', recovered: false, error: { code: 'SUBAGENT_INCOMPLETE' } },
    ])
  })

  test('two completions in one turn: the first valid one wins, the second is answered with an error', async () => {
    const recording = await run({}, [
      calling(handIn({ result: ' ' }, 'k1'), handIn({ result: 'one' }, 'k2'), handIn({ result: 'two' }, 'k3')),
    ])
    expect(answersIn(recording).map(({ callId, error }) => [callId, error?.code])).toEqual([
      ['k1', 'VALIDATION_FAILED'],
      ['k2', undefined],
      ['k3', 'TOOL_FAILED'],
    ])
    expect(recording.statuses).toMatchObject([{ reason: 'goal', output: 'one', turns: 1 }])
  })

  test('beside other calls: they run, and the work is done', async () => {
    const recording = await run({ tools: ['look'] }, [calling({ name: 'look' }, handIn({ result: 'x' }))])
    expect(recording.statuses).toMatchObject([{ reason: 'goal', turns: 1, toolCalls: 1 }])
  })

  test('the model reads about it after its prompt', async () => {
    const s = leadHarness({ agents: [agent('a')], scripts: { lead: [calling('a'), 'Done.'], a: [completing()] } })
    await s.run()
    const [request] = s.models.a?.requests ?? []
    expect(request?.instruction).toMatch(/^You are a\.\n\n.*`complete_task`/)
    expect(request?.tools.map(({ name }) => name)).toEqual(['complete_task'])
  })
})

describe('an agent that stops talking', () => {
  test('without completing gets one turn with the completion tool alone; a result from it is the goal, recovered', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['look'] })],
      tools: [tool('look')],
      scripts: { lead: [calling('a'), 'Done.'], a: ['The answer is 42.', completing('42')] },
    })
    const { statuses, results } = await s.run()
    expect(statuses).toMatchObject([{ reason: 'goal', recovered: true, output: '42', turns: 2 }])
    expect(results).toMatchObject([{ status: 'complete', content: '42' }])
    const last = s.models.a?.requests[1]
    expect(last?.tools.map(({ name }) => name)).toEqual(['complete_task'])
    expect(last?.options.toolChoice).toEqual({ tool: 'complete_task' })
    expect(last?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(last?.messages.at(-1)?.content).toMatch(/^You stopped without calling `complete_task`\./)
  })

  test('and never completes is an error, with its last words', async () => {
    const { statuses, results } = await run({}, ['The answer is 42.', 'I said so.'])
    expect(statuses).toMatchObject([
      { reason: 'error', recovered: false, error: { code: 'SUBAGENT_INCOMPLETE' }, lastWords: 'I said so.', turns: 2 },
    ])
    expect(results).toMatchObject([
      { status: 'failed', content: 'Error: agent a: ended without complete_task\n\nIts last words: I said so.' },
    ])
  })

  test('calls another tool in its grace turn: the call is answered with an error and not run', async () => {
    let looks = 0
    const s = leadHarness({
      agents: [agent('a', { tools: ['look'] })],
      tools: [tool('look', { invoke: () => `${++looks}` })],
      scripts: { lead: [calling('a'), 'Done.'], a: ['Hm.', calling({ name: 'look' })] },
    })
    const { statuses, events } = await s.run()
    expect([looks, statuses[0]?.reason]).toEqual([0, 'error'])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'look')).toMatchObject({
      error: { code: 'TOOL_UNKNOWN' },
    })
  })

  test('a failing agent gets no grace turn', async () => {
    const failure = { error: { at: 'before', error: new KernelError('MODEL_FAILED', 'down') } } as const
    const s = leadHarness({
      agents: [agent('a')],
      scripts: { lead: [calling('a'), 'Done.'], a: [failure, completing()] },
    })
    expect((await s.run()).statuses).toMatchObject([{ reason: 'error', error: { code: 'MODEL_FAILED' } }])
    expect(s.models.a?.requests).toHaveLength(1)
  })
})

describe('each call', () => {
  test('has a history of its own', async () => {
    const s = leadHarness({
      agents: [agent('a')],
      scripts: { lead: [calling('a', 'a'), calling('a'), 'Done.'], a: Array(3).fill(completing()) },
    })
    const { statuses } = await s.run()
    expect(statuses).toHaveLength(3)
    expect(s.models.a?.requests.map(({ messages }) => messages.map(({ content }) => content))).toEqual(
      Array(3).fill([`Do a.`]),
    )
  })

  test('uses the same inner agent: it is made once', async () => {
    let made = 0
    const model = scriptedModel([completing()], { repeat: true })
    const factory = (spec: Parameters<typeof miniAgent>[0]) => {
      made++
      return miniAgent({ ...spec, model })
    }
    const s = leadHarness({
      agents: [agent('a')],
      factory,
      scripts: { lead: [calling('a', 'a'), calling('a'), 'Done.'] },
    })
    expect((await s.run()).statuses.map(({ reason }) => reason)).toEqual(['goal', 'goal', 'goal'])
    expect(made).toBe(1)
  })

  test('a failure of one is nothing to the others beside it', async () => {
    const s = leadHarness({
      agents: [agent('a'), agent('b')],
      scripts: {
        lead: [calling('a', 'b'), 'Done.'],
        a: [{ error: { at: 'mid', error: new Error('broken') } }],
        b: [completing('B')],
      },
    })
    const { results, end } = await s.run()
    expect(results.map(({ name, status }) => [name, status]).sort()).toEqual([
      ['a', 'failed'],
      ['b', 'complete'],
    ])
    expect(end?.outcome).toBe('complete')
  })
})

test('a factory that fails for the grace turn leaves the limit as it is', async () => {
  let made = 0
  const model = scriptedModel(['Hm.'])
  const factory = (spec: Parameters<typeof miniAgent>[0]) => {
    if (made++ > 0) throw new Error('no more')
    return miniAgent({ ...spec, model })
  }
  const s = leadHarness({ agents: [agent('a')], factory, scripts: { lead: [calling('a'), 'Done.'] } })
  expect((await s.run()).statuses).toMatchObject([{ reason: 'error', error: { code: 'SUBAGENT_INCOMPLETE' } }])
})

test('without a registry, the environment has the agents that may be named', async () => {
  const ctx = createRunContext({ runId: 'R' }).derive({ call: { callId: 'c', onAction() {}, onInterrupt() {} } })
  const model = scriptedModel([calling('b'), completing('B'), completing('A')])
  const env = { factory: miniAgent, model, agents: [agent('b')] }
  const executor = new AgentExecutor(agent('a', { tools: ['b'] }), env)
  expect(await executor.run({ task: 't' }, ctx)).toMatchObject({
    output: 'A',
    turns: 2,
    childrenUsage: { inputTokens: 1 },
  })
})

test('an AgentExecutor alone gives the status, typed, and throws nothing', async () => {
  const ctx = createRunContext({ runId: 'R' }).derive({ call: { callId: 'c', onAction() {}, onInterrupt() {} } })
  const executor = new AgentExecutor(agent('a'), { factory: miniAgent, model: scriptedModel([completing('X')]) })
  expect(await executor.run({ task: 't' }, ctx)).toMatchObject({ agent: 'a', reason: 'goal', output: 'X' })
  const controller = new AbortController()
  controller.abort(new KernelError('ABORTED', 'stop'))
  expect(await executor.run({ task: 't' }, ctx.derive({ signal: controller.signal }))).toMatchObject({
    reason: 'aborted',
    turns: 0,
  })
})
