import { type Additions, type Agent, defineTool, type StandardSchema, type ToolMeta } from '@troupe/kernel'

/** The name of the tool with which a model transfers the conversation to another agent. */
export const TRANSFER_TOOL = 'transfer_to_agent'

/** The instruction that explains transfers to a model; `{agents}` is replaced by the list of agents it can reach. */
export const TRANSFER_INSTRUCTION: string = `Other agents you can transfer this conversation to: {agents}

How to decide:
- Your own description fits the request best: answer it yourself.
- The description of another agent fits better: call '${TRANSFER_TOOL}' with the name of that agent.

When you transfer, write the function call and nothing else.`

/** The result of the call of the tool, which the model sees. */
export function transferResult(agentName: string): string {
  return `successfully transferred to agent [${agentName}]`
}

/** Makes the instruction and the tool that an agent needs to transfer to others. */
export function transferAdditions(targets: readonly Pick<Agent, 'name' | 'description'>[]): Required<Additions> {
  const list = targets.map(({ name, description }) => `\n- Agent name: ${name}\n  Agent description: ${description}`)
  return {
    // A function, because `replace` gives `$&` and the like in a plain text a meaning of their own.
    instruction: TRANSFER_INSTRUCTION.replace('{agents}', () => list.join('')),
    tools: [transferTool(targets.map(({ name }) => name))],
  }
}

function transferTool(names: readonly string[]): ToolMeta {
  const tool = defineTool({
    name: TRANSFER_TOOL,
    description: 'Transfer the question to another agent.',
    parameters: transferParameters(names),
    kind: 'think',
    effect: 'idempotent',
    invoke({ agent_name: agentName }, ctx) {
      ctx.sendAction({ type: 'transfer-to-agent', agentName })
      return transferResult(agentName)
    },
  })
  return { tool, returnDirectly: true }
}

/** Lists the names for the model, but does not enforce them: the flow decides which agents can be reached. */
function transferParameters(names: readonly string[]): StandardSchema<{ readonly agent_name: string }> {
  return {
    '~standard': {
      version: 1,
      vendor: 'troupe',
      validate(value) {
        const name = (value as { agent_name?: unknown } | null)?.agent_name
        if (typeof name === 'string' && name !== '') return { value: { agent_name: name } }
        return { issues: [{ message: 'expected the name of an agent', path: ['agent_name'] }] }
      },
      jsonSchema: {
        input: () => ({
          type: 'object',
          properties: {
            agent_name: { type: 'string', description: 'the name of the agent to transfer to', enum: names },
          },
          required: ['agent_name'],
        }),
      },
    },
  }
}
