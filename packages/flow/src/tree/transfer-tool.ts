import { type Additions, type Agent, defineTool, type StandardSchema, type ToolMeta } from '@troupe/kernel'

/** The one tool by which a model hands the conversation over. */
export const TRANSFER_TOOL = 'transfer_to_agent'

/** What a model is told about handing over; `{agents}` stands for the list of those it can reach. */
export const TRANSFER_INSTRUCTION: string = `Other agents you can hand this conversation to: {agents}

How to decide:
- Your own description fits the request best: answer it yourself.
- The description of another agent fits better: call '${TRANSFER_TOOL}' with the name of that agent.

When you hand over, write the function call and nothing else.`

/** What a model is told when it has handed over. */
export function transferResult(agentName: string): string {
  return `successfully transferred to agent [${agentName}]`
}

/** What an agent needs to hand over to others. */
export function transferAdditions(targets: readonly Agent[]): Required<Additions> {
  const list = targets.map(({ name, description }) => `\n- Agent name: ${name}\n  Agent description: ${description}`)
  return {
    // A function, because a description may contain what `replace` takes for a pattern.
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

/** The names are advertised and not enforced: it is the flow that knows whom it can reach. */
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
