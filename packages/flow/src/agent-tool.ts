import {
  type Agent,
  checkOptionNames,
  defineTool,
  type Schema,
  type Tool,
  type ToolCallInput,
  toJsonSchema,
} from '@troupe/kernel'
import { checkAgent, runNested } from '@troupe/kernel/run'

/** How an agent shows itself as a tool. */
export interface AgentToolOptions {
  /** @default the agent's name */
  readonly name?: string
  /** @default the agent's description */
  readonly description?: string
  /** What the agent is asked with, as JSON in its first user message. @default one text, `request`, which is that message */
  readonly parameters?: Schema
  /** Whether the events of the agent go into the outer stream, under its own path. @default false */
  readonly forward?: boolean
}

const REQUEST = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What the agent is to do, with all it needs to know.' } },
  required: ['request'],
} as const

/**
 * Lets a model call an agent.
 * Contract: its history is its own, its state is shared; its actions stay inside, its questions come out; a failed run is a failed call.
 * @example chatModelAgent({ name: 'lead', tools: [agentTool(researcher)], … })
 */
export function agentTool(agent: Agent, options: AgentToolOptions = {}): Tool {
  checkAgent(agent)
  checkOptionNames(`agentTool of ${agent.name}`, options, {
    name: true,
    description: true,
    parameters: true,
    forward: true,
  })
  const { name = agent.name, description = agent.description, parameters = REQUEST, forward = false } = options
  toJsonSchema(parameters)
  return defineTool({
    name,
    description,
    parameters,
    kind: 'execute',
    effect: 'nested',
    async invoke(args: unknown, ctx, { callId, arguments: text }: ToolCallInput) {
      const content = parameters === REQUEST ? (args as { request: string }).request : text
      const messages = [{ id: `${callId}#request`, role: 'user', content } as const]
      const { text: answer, output } = await runNested(agent, { messages }, ctx, { forward })
      return { content: answer, ...(output !== undefined && { data: output as never }) }
    },
  })
}
