import { testTool } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'

const input = (properties: Record<string, string>) => ({
  inputs: Object.fromEntries(
    Object.entries(properties).map(([name, type]) => [
      name,
      { type: type as 'string', description: name, required: true },
    ]),
  ),
})
const invoke = (args: Record<string, unknown>) => calling({ name: 'invoke_agent', arguments: args as never })
const setting = (args: Record<string, unknown>) =>
  leadHarness({
    agents: [
      agent('find', { input: input({ what: 'string', max: 'integer' }), prompt: 'Find ${what}.' }),
      agent('sum', { input: z.object({ what: z.array(z.number()), note: z.string().trim().optional() }) }),
    ],
    invoke: true,
    scripts: { lead: [invoke(args), 'Done.'], find: [completing('Found.')], sum: [completing('6')] },
  })

testTool('invoke_agent', () => setting({}).registry.invokeAgentTool(), {
  args: { agent_name: 'sum', what: [1, 2, 3] },
  invalid: [{}, { agent_name: 'nobody' }, { agent_name: 3 }],
})

describe('one tool for all agents (ruling 16)', () => {
  test('declares the names, and the inputs of all agents side by side', () => {
    expect(setting({}).registry.invokeAgentTool()).toMatchObject({
      name: 'invoke_agent',
      kind: 'think',
      output: 'markdown',
      effect: 'nested',
      description: expect.stringContaining('- find (what, max): find helps.\n- sum (what, note?): sum helps.'),
      parameters: {
        type: 'object',
        properties: {
          agent_name: { type: 'string', enum: ['find', 'sum'] },
          what: {
            anyOf: [
              { type: 'string', description: 'what' },
              { type: 'array', items: { type: 'number' } },
            ],
          },
          max: { type: 'integer' },
          note: { type: 'string' },
        },
        required: ['agent_name'],
      },
    })
  })

  test('runs the agent as its own tool would', async () => {
    const s = setting({ agent_name: 'find', what: 'x', max: 1 })
    const { statuses, results } = await s.run()
    expect([statuses, results]).toMatchObject([
      [{ agent: 'find', reason: 'goal', output: 'Found.' }],
      [{ name: 'invoke_agent', content: 'Found.' }],
    ])
    expect(s.models.find?.requests[0]?.instruction).toMatch(/^Find x\./)
    expect(s.models.find?.requests[0]?.messages[0]?.content).toBe('{"what":"x","max":1}')
  })

  test('arguments transformed by a Standard Schema reach the agent', async () => {
    const s = setting({ agent_name: 'sum', what: [1, 2], note: ' n ' })
    await s.run()
    expect(s.models.sum?.requests[0]?.messages[0]?.content).toBe('{"what":[1,2],"note":"n"}')
  })

  test.each<[string, Record<string, unknown>]>([
    ['arguments of another agent', { agent_name: 'find', what: [1], max: 1 }],
    ['too few', { agent_name: 'find', what: 'x' }],
    ['of a wrong type', { agent_name: 'sum', what: ['x'] }],
    ['none', { agent_name: 'find' }],
  ])('are validated against the schema of the agent that is named: %s', async (_, args) => {
    const s = setting(args)
    const { results } = await s.run()
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_FAILED' } }])
    expect([s.models.find?.requests, s.models.sum?.requests]).toEqual([[], []])
  })

  test('an unknown agent is answered with the names there are', async () => {
    const { results } = await setting({ agent_name: 'nobody' }).run()
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_FAILED' } }])
    const made = setting({}).registry.invokeAgentTool()
    expect(await made.invoke?.({ agent_name: 'nobody' }, {} as never, {} as never)).toMatchObject({
      content: expect.stringContaining('find, sum'),
      error: { code: 'SUBAGENT_UNKNOWN' },
    })
  })

  test('without agents there is still a tool, with nothing to call', async () => {
    const s = leadHarness({ agents: [], invoke: true, scripts: { lead: [invoke({ agent_name: 'x' }), 'Done.'] } })
    expect((await s.run()).results).toMatchObject([{ error: { code: 'SUBAGENT_UNKNOWN' } }])
  })

  test('a schema with references is not torn apart', () => {
    interface Tree {
      readonly children: readonly Tree[]
    }
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }))
    const s = leadHarness({ agents: [agent('a', { input: z.object({ tree }) })], scripts: {} })
    expect(s.registry.invokeAgentTool().parameters).toMatchObject({ properties: { tree: {} } })
  })
})
