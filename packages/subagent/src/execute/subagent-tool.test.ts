import { defineTool, KernelError, type RunContext, type Tool, type ToolCallResult } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel, testTool } from '@troupe/testkit'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { defineAgent, subagentTool } from '../index.ts'
import { agent, calling, completing, eventsOf, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'
import type { SubagentStatus } from './subagent-status.ts'

const env = (...turns: Parameters<typeof scriptedModel>[0]) => ({
  factory: miniAgent,
  model: scriptedModel(turns, { repeat: true }),
})
const inCall = (settings: Parameters<typeof createRunContext>[0] = {}): RunContext =>
  createRunContext({ runId: 'R', ...settings }).derive({
    step: 'tool:0:0',
    call: { callId: 'c1', onAction() {}, onInterrupt() {} },
  })
const investigator = defineAgent({
  name: 'codebase_investigator',
  displayName: 'Codebase Investigator',
  description: 'Your primary tool for multifile search tasks.',
  input: { inputs: { objective: { type: 'string', description: 'A comprehensive description', required: true } } },
  prompt: 'Investigate: ${objective}',
})

testTool('SubagentTool', () => subagentTool(investigator, env(completing())), {
  args: { objective: 'Find it.' },
  invalid: [{}, { objective: 1 }, []],
})

describe('class definition (类定义)', () => {
  test('uniform interface (统一接口): name, display name, description and the schema come from the definition', () => {
    const made: Tool = subagentTool(investigator, env(completing()))
    expect(made).toMatchObject({
      name: 'codebase_investigator',
      displayName: 'Codebase Investigator',
      description: 'Your primary tool for multifile search tasks.',
      parameters: {
        type: 'object',
        properties: { objective: { type: 'string', description: 'A comprehensive description' } },
        required: ['objective'],
      },
    })
    expect(subagentTool(agent('a'), env('')).displayName).toBe('a')
  })

  test('tool type and output (工具类型, 输出特性): it thinks, answers in Markdown, and its effects are those of its steps', () => {
    expect(subagentTool(investigator, env(''))).toMatchObject({ kind: 'think', output: 'markdown', effect: 'nested' })
  })

  test('keeps working as a copy, as others make of a tool', async () => {
    const copy = { ...subagentTool(investigator, env(completing('X'))) }
    expect(await copy.invoke({ objective: 'o' }, inCall())).toMatchObject({ content: 'X' })
  })

  test.each<[string, () => unknown]>([
    ['no definition', () => subagentTool({ name: 'a' } as never, env(''))],
    ['no factory', () => subagentTool(investigator, {} as never)],
    ['no model', () => subagentTool(investigator, { factory: miniAgent })],
    ['an unknown model name', () => subagentTool(agent('a', { model: 'fast' }), env(''))],
    ['a tool of a reserved name', () => subagentTool(investigator, { ...env(''), tools: [tool('complete_task')] })],
    ['two tools of one name', () => subagentTool(investigator, { ...env(''), tools: [tool('x'), tool('x')] })],
    ['agents that are none', () => subagentTool(investigator, { ...env(''), agents: [{ name: 'x' } as never] })],
    ['two agents of one name', () => subagentTool(investigator, { ...env(''), agents: [agent('x'), agent('x')] })],
    [
      'an agent with the name of a tool',
      () => subagentTool(investigator, { ...env(''), agents: [agent('x')], tools: [tool('x')] }),
    ],
    ['limits that are none', () => subagentTool(investigator, { ...env(''), limits: { maxTurns: 0 } })],
    ['an invalid guard', () => subagentTool(investigator, { ...env(''), guard: 3 as never })],
  ])('%s is CONFIG_INVALID', (_, build) => {
    expect(build).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})

describe('call flow (调用流程): build, validate and execute are apart', () => {
  test('2. parameters are validated against the generated schema', async () => {
    const made = subagentTool(investigator, env(completing()))
    expect(await made.validate({ objective: 'o' })).toEqual({ objective: 'o' })
    await expect(made.validate({})).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('2. arguments that fail validation are answered with an error, and the agent does not run', async () => {
    const s = leadHarness({
      agents: [agent('a')],
      scripts: { lead: [calling({ name: 'a', arguments: { task: 3 } }), 'Sorry.'], a: [completing()] },
    })
    const { results } = await s.run()
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_FAILED' } }])
    expect(s.models.a?.requests).toHaveLength(0)
  })

  test('3. building makes one invocation and runs nothing', () => {
    const model = scriptedModel([completing()])
    const invocation = subagentTool(investigator, { factory: miniAgent, model }).build({ objective: 'o' })
    expect([invocation.inputs, invocation.definition, model.requests]).toEqual([{ objective: 'o' }, investigator, []])
  })

  test('4. executing gives content for the model, display for a person, data for a program (ToolResult 类型)', async () => {
    const result: ToolCallResult = await subagentTool(investigator, env(completing('Two files.')))
      .build({ objective: 'o' })
      .execute(inCall())
    expect(result).toEqual({
      content: 'Two files.',
      display: expect.stringMatching(/^\*\*Codebase Investigator\*\*: goal, 1 turn, \d+ ms\n\nTwo files\.$/),
      data: {
        agent: 'codebase_investigator',
        reason: 'goal',
        recovered: false,
        turns: 1,
        toolCalls: 0,
        durationMs: expect.any(Number),
        usage: { inputTokens: 1, outputTokens: 1 },
        childrenUsage: { inputTokens: 0, outputTokens: 0 },
        output: 'Two files.',
      } satisfies SubagentStatus,
    })
  })

  test('streaming updates (canUpdateOutput): the events of the agent come as they happen, marked with the call', async () => {
    const s = leadHarness({
      agents: [agent('a')],
      scripts: { lead: [calling({ id: 'c1', name: 'a', arguments: { task: 't' } }), 'Done.'], a: [completing()] },
    })
    const { events } = await s.run()
    const inner = eventsOf(events, 'a')
    expect(inner.map(({ type }) => type)).toEqual([
      'run-start',
      'agent-start',
      'message-start',
      'message-end',
      'tool-start',
      'tool-end',
      'agent-end',
      'run-end',
    ])
    for (const { runPath, parentCallId, runId } of inner) {
      expect([runPath, parentCallId, runId]).toEqual([['lead'], 'c1', 'R1/tool:0:0'])
    }
  })

  test('forward: false keeps them inside', async () => {
    const s = leadHarness({
      agents: [agent('a')],
      forward: false,
      scripts: { lead: [calling('a'), 'Done.'], a: [completing()] },
    })
    const { events, statuses } = await s.run()
    expect([eventsOf(events, 'a'), statuses[0]?.turns]).toEqual([[], 1])
  })

  test('a standard tool and an agent look the same to the caller (与标准工具的对比)', async () => {
    const standard = defineTool({ name: 's', description: '', parameters: { type: 'object' }, invoke: () => 'text' })
    for (const one of [standard, subagentTool(agent('a'), env(completing('text')))] as Tool[]) {
      const output = (await one.invoke?.({ task: 't' }, inCall(), {} as never)) as string | ToolCallResult
      expect(typeof output === 'string' ? output : output.content).toBe('text')
    }
  })
})

describe('never throws at its caller (ruling 17)', () => {
  test('an agent that throws while it is made is a result, and is made anew the next time', async () => {
    let made = 0
    const model = scriptedModel([completing()])
    const factory = (spec: Parameters<typeof miniAgent>[0]) => {
      if (made++ === 0) throw new Error('no luck')
      return miniAgent(spec)
    }
    const flaky = subagentTool(agent('a'), { factory, model })
    const first = await flaky.invoke({ task: 't' }, inCall())
    expect(first).toMatchObject({
      content: 'Error: no luck',
      error: { code: 'AGENT_FAILED' },
      data: { reason: 'error', turns: 0 },
    })
    expect(await flaky.invoke({ task: 't' }, inCall())).toMatchObject({ data: { reason: 'goal' } })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no agent', { name: 'x' }],
    ['a promise', Promise.resolve()],
  ])('a factory that gives %s', async (_, given) => {
    const made = subagentTool(agent('a'), { factory: () => given as never, model: scriptedModel([]) })
    expect(await made.invoke({ task: 't' }, inCall())).toMatchObject({
      error: { code: 'CONFIG_INVALID' },
      data: { reason: 'error' },
    })
  })

  test('a model that fails', async () => {
    const model = scriptedModel([
      { error: { at: 'before', error: new KernelError('MODEL_FAILED', 'model: down', { retryable: true }) } },
    ])
    const result = await subagentTool(agent('a'), { factory: miniAgent, model }).invoke({ task: 't' }, inCall())
    expect(result).toMatchObject({
      content: 'Error: model: down',
      error: { code: 'MODEL_FAILED', retryable: true },
      data: { reason: 'error', recovered: false },
    })
  })

  test('a call outside of a run', async () => {
    const result = await subagentTool(agent('a'), env(completing())).invoke({ task: 't' }, createRunContext())
    expect(result).toMatchObject({ error: { code: 'CONFIG_INVALID' } })
  })

  test('inputs that are not JSON', async () => {
    const result = await subagentTool(agent('a'), env(completing())).invoke({ task: 1n }, inCall())
    expect(result).toMatchObject({ data: { reason: 'error' } })
  })
})

test('generics (泛型参数): inputs and result are typed', async () => {
  const typed = defineAgent({
    name: 'typed',
    description: 'd',
    input: z.object({ city: z.string() }),
    output: z.object({ degrees: z.number() }),
    prompt: 'p',
  })
  const made = subagentTool(typed, env(''))
  expectTypeOf(made.build).parameter(0).toEqualTypeOf<{ city: string }>()
  expectTypeOf(made.validate).returns.resolves.toEqualTypeOf<{ city: string }>()
  // @ts-expect-error a city is a text
  made.build({ city: 3 })
})
