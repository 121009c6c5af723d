import type { AgentAction, ToolMeta } from '@troupe/kernel'
import { parseArguments, toJsonSchema } from '@troupe/kernel/kit'
import { createRunContext } from '@troupe/kernel/run'
import { jsonSchemaValidator, testTool } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { hello, runToEnd, talker, tool, transferring } from '../flow.fixture.ts'
import { agentWithOptions, setSubAgents, TRANSFER_INSTRUCTION, TRANSFER_TOOL } from '../index.ts'
import { scriptedAgent, transfer } from '../scripted-agent.fixture.ts'
import { transferAdditions } from './transfer-tool.ts'

const offered = () => transferAdditions([talker('chat'), talker('weather')]).tools[0]?.tool ?? tool('none')

testTool('transfer_to_agent', offered, { args: { agent_name: 'chat' }, invalid: [{ agent_name: 3 }, {}] })

describe('transfer_to_agent', () => {
  const call = { name: TRANSFER_TOOL, arguments: '', callId: 'c', step: '', idempotencyKey: 'c' }
  const invoke = async (args: unknown) => {
    const actions: AgentAction[] = []
    const onAction = (action: AgentAction) => void actions.push(action)
    const ctx = createRunContext().derive({ call: { callId: 'c', onAction, onInterrupt() {} } })
    const parsed = await parseArguments(offered(), JSON.stringify(args), jsonSchemaValidator)
    return { actions, content: await offered().invoke?.(parsed, ctx, call) }
  }

  test('has one parameter, whose names are advertised', () => {
    expect(offered()).toMatchObject({
      name: 'transfer_to_agent',
      description: 'Transfer the question to another agent.',
    })
    expect(toJsonSchema(offered().parameters)).toEqual({
      type: 'object',
      properties: {
        agent_name: { type: 'string', description: 'the name of the agent to transfer to', enum: ['chat', 'weather'] },
      },
      required: ['agent_name'],
    })
  })

  test('only says what is wanted, and does not enforce the names: that is for the flow', async () => {
    for (const agentName of ['chat', 'stranger', `it's "odd"`]) {
      expect(await invoke({ agent_name: agentName })).toEqual({
        actions: [{ type: 'transfer-to-agent', agentName }],
        content: `successfully transferred to agent [${agentName}]`,
      })
    }
  })

  test.each([{}, { agent_name: '' }, { agent_name: 1 }, [], null, 'chat'])('refuses %j', async (args) => {
    await expect(invoke(args)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('the instruction is a constant with a place for the list', () => {
    expect(TRANSFER_INSTRUCTION.split('{agents}')).toHaveLength(2)
    expect(TRANSFER_INSTRUCTION).toContain(`'${TRANSFER_TOOL}'`)
  })
})

describe('what agents are given', () => {
  const given: ToolMeta = { tool: tool('given'), returnDirectly: false }
  const additions = { instruction: 'Be brief.', tools: [given] }
  const namesOf = (tools: readonly ToolMeta[] = []) => tools.map(({ tool: { name } }) => name)
  const run = async (tools: readonly ToolMeta[] = [given]) => {
    const leaf = scriptedAgent('leaf', ['Done.'])
    const mid = scriptedAgent('mid', [transfer('leaf')])
    const lead = scriptedAgent('lead', [transfer('mid')])
    const input = { ...hello, additions: { ...additions, tools }, options: { maxIterations: 3 } }
    const result = await runToEnd(setSubAgents(lead, [setSubAgents(mid, [leaf])]), input)
    return { ...result, inputs: [lead, mid, leaf].map(({ inputs }) => inputs[0]) }
  }

  test('the tools of a caller travel along, its instruction stays with the first', async () => {
    const { inputs } = await run()
    expect(inputs.map((input) => namesOf(input?.additions?.tools))).toEqual(
      Array(3).fill(['transfer_to_agent', 'given']),
    )
    const brief = inputs.map((input) => input?.additions?.instruction?.includes('Be brief.'))
    expect(brief).toEqual([true, false, false])
    expect(inputs.map((input) => input?.options)).toEqual(Array(3).fill({ maxIterations: 3 }))
  })

  test('stays with the first also when it comes back to it', async () => {
    const lead = scriptedAgent('lead', [transfer('child'), 'Done.'])
    await runToEnd(setSubAgents(lead, [scriptedAgent('child', [transfer('lead')])]), { ...hello, additions })
    expect(lead.inputs.map((input) => input.additions?.instruction?.includes('Be brief.'))).toEqual([true, true])
  })

  test("a caller's tool of the name of ours loses", async () => {
    const { turns } = await run([{ tool: tool('transfer_to_agent'), returnDirectly: false }])
    expect(turns).toEqual(['lead', 'lead/mid', 'lead/mid/leaf'])
  })

  test('an agent alone gets what its caller gives and no transfer tool', async () => {
    const alone = scriptedAgent('alone', ['Hi.'])
    await runToEnd(agentWithOptions(alone, {}), { ...hello, additions })
    expect(alone.inputs[0]?.additions).toEqual(additions)
    await runToEnd(agentWithOptions(alone, {}))
    expect(alone.inputs[1]?.additions).toBeUndefined()
  })

  test('the instruction lists the children in their order, then the parent, with their descriptions', async () => {
    const mid = scriptedAgent('mid', ['Hi.'])
    const odd = { ...talker('b'), description: 'Costs $& and $1.' }
    await runToEnd(setSubAgents(transferring('lead', 'mid'), [setSubAgents(mid, [talker('z'), odd])]))
    const { instruction, tools } = mid.inputs[0]?.additions ?? {}
    expect(instruction).toContain(
      [
        '\n- Agent name: z\n  Agent description: z runs.',
        '\n- Agent name: b\n  Agent description: Costs $& and $1.',
        '\n- Agent name: lead\n  Agent description: lead runs.\n',
      ].join(''),
    )
    expect(instruction).toContain("'transfer_to_agent'")
    expect(tools).toMatchObject([{ returnDirectly: true, tool: { name: 'transfer_to_agent' } }])
  })
})
