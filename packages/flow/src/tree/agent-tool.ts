import {
  type Agent,
  defineTool,
  KernelError,
  type Message,
  type RunContext,
  type Schema,
  type Tool,
  type ToolCallInput,
} from '@troupe/kernel'
import { checkOptionNames, toJsonSchema } from '@troupe/kernel/kit'
import { checkAgent, checkSavedRuns, HISTORY, runNested } from '@troupe/kernel/run'
import { rewriteHistory } from './rewrite-history.ts'

/** Options of `agentTool`. */
export interface AgentToolOptions {
  /** @default the agent's name */
  readonly name?: string
  /** @default the agent's description */
  readonly description?: string
  /** The arguments, which the agent gets as JSON in its first user message. @default one text, `request`, which becomes that message */
  readonly parameters?: Schema
  /** Whether the events of the agent appear in the outer stream, under its own path. @default false */
  readonly forward?: boolean
  /** Whether the agent sees the conversation of its caller before its request, with what other agents said as context. @default false */
  readonly history?: boolean
}

const REQUEST = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What the agent is to do, with all it needs to know.' } },
  required: ['request'],
} as const

/**
 * Makes a tool of an agent, so that a model can call it.
 * Contract: the agent has its own history and shares the state; its actions have no effect outside, its questions reach the caller; if its run fails, the call fails.
 * @example chatModelAgent({ name: 'lead', model, tools: [agentTool(researcher)] })
 */
export function agentTool(agent: Agent, options: AgentToolOptions = {}): Tool {
  checkAgent(agent)
  checkOptionNames(`agentTool of ${agent.name}`, options, {
    name: true,
    description: true,
    parameters: true,
    forward: true,
    history: true,
  })
  const { name = agent.name, description = agent.description, parameters = REQUEST } = options
  const { forward = false, history = false } = options
  toJsonSchema(parameters)
  return defineTool({
    name,
    description,
    parameters,
    kind: 'execute',
    effect: 'nested',
    checkState: (saved) => checkSavedRuns(agent, saved),
    async invoke(args: unknown, ctx, { callId, arguments: text }: ToolCallInput) {
      const content = parameters === REQUEST ? (args as { request: string }).request : text
      const request = { id: `${callId}#request`, role: 'user', content } as const
      const messages = history ? [...historyBefore(callId, agent.name, ctx), request] : [request]
      const { text: answer, output } = await runNested(agent, { messages }, ctx, { forward })
      return { content: answer, ...(output !== undefined && { data: output as never }) }
    },
  })
}

/** The conversation up to the turn that a call belongs to, as the agent inside the call sees it. */
function historyBefore(callId: string, agentName: string, ctx: RunContext): readonly Message[] {
  const messages = ctx.get(HISTORY)?.()
  if (!messages) {
    const hint = 'history: works in tools of an agent that gives them its messages, as chatModelAgent does'
    throw new KernelError('CONFIG_INVALID', `agentTool of ${agentName}: ${hint}`)
  }
  const makes = (message: Message) => message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId)
  const end = messages.findIndex(makes)
  return rewriteHistory(end < 0 ? messages : messages.slice(0, end), agentName)
}
