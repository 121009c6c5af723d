import type { AssistantMessage, Awaitable, Content, FilePart, Message, RunContext, ToolMessage } from '@troupe/kernel'
import { textOf } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import { TRANSFER_TOOL } from './transfer-tool.ts'

/** Makes the history that one agent sees from the history of all; `ctx.agentName` names that agent. */
export type HistoryRewriter = (messages: readonly Message[], ctx: RunContext) => Awaitable<readonly Message[]>

/** Options of `rewriteHistory`. */
export interface RewriteOptions {
  /** Leaves out the calls of `transfer_to_agent` and their results, from all agents. @default false */
  readonly skipTransferMessages?: boolean
}

/**
 * Rewrites a history for one agent: its own messages stay as they are, those of other agents become "For context: …" user messages.
 * Contract: returns the same array if nothing has to be rewritten; a message without `agentName` counts as the agent's own.
 * @example rewriteHistory(messages, 'WeatherAgent')
 */
export function rewriteHistory(
  messages: readonly Message[],
  agentName: string,
  options: RewriteOptions = {},
): readonly Message[] {
  checkOptionNames('rewriteHistory', options, { skipTransferMessages: true })
  return seenBy(messages, agentName, options)
}

/** The same, without checking the names of the options. */
export function seenBy(
  messages: readonly Message[],
  agentName: string,
  { skipTransferMessages = false }: RewriteOptions,
): readonly Message[] {
  let rewritten: (Message | undefined)[] | undefined
  let shorter = false
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i] as Message
    if (message.role !== 'assistant' && message.role !== 'tool') continue
    const said = skipTransferMessages ? withoutTransfers(message) : message
    const seen = said && seenAs(said, message.agentName ?? callerOf(message, messages, i), agentName)
    if (seen === message) continue
    rewritten ??= messages.slice()
    rewritten[i] = seen
    shorter ||= seen === undefined
  }
  if (!rewritten) return messages
  return shorter ? rewritten.filter((message) => message !== undefined) : (rewritten as readonly Message[])
}

type AgentMessage = AssistantMessage | ToolMessage

/** Leaves an agent's own messages as they are; those of others become context. */
function seenAs(said: AgentMessage, who: string | undefined, agentName: string): Message | undefined {
  return who === undefined || who === agentName ? said : context(said, who)
}

/** Finds the agent whose call a result from outside belongs to. */
function callerOf(result: AgentMessage, messages: readonly Message[], before: number): string | undefined {
  if (result.role !== 'tool') return undefined
  const { callId } = result
  for (let i = before - 1; i >= 0; i--) {
    const message = messages[i]
    if (message?.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId)) return message.agentName
  }
  return undefined
}

function context(said: AgentMessage, who: string): Message | undefined {
  const text = said.role === 'assistant' ? spoken(said, who) : returned(said, who)
  const files = filesOf(said.content)
  if (text === '' && files.length === 0) return undefined
  const line = `For context:${text}`
  const content: Content = files.length > 0 ? [{ type: 'text', text: line }, ...files] : line
  return { id: said.id, role: 'user', content, agentName: who }
}

function spoken({ content, toolCalls = [] }: AssistantMessage, who: string): string {
  const text = textOf(content)
  let line = text === '' ? '' : ` [${who}] said: ${text}.`
  for (const { name, arguments: args } of toolCalls) {
    line += ` [${who}] called tool: \`${name}\` with arguments: ${args}.`
  }
  return line
}

function returned({ content, name }: ToolMessage, who: string): string {
  const text = textOf(content)
  return text === '' ? '' : ` [${who}] \`${name}\` tool returned result: ${text}.`
}

function filesOf(content: Content): readonly FilePart[] {
  return typeof content === 'string' ? NONE : content.filter((part) => part.type === 'file')
}

const NONE: readonly FilePart[] = []

/** Removes the transfers from a message; gives `undefined` if nothing else is left. */
function withoutTransfers(message: AgentMessage): AgentMessage | undefined {
  if (message.role === 'tool') return message.name === TRANSFER_TOOL ? undefined : message
  const { toolCalls } = message
  if (!toolCalls?.some(({ name }) => name === TRANSFER_TOOL)) return message
  const { toolCalls: _, ...rest } = message
  const others = toolCalls.filter(({ name }) => name !== TRANSFER_TOOL)
  if (others.length > 0) return { ...rest, toolCalls: others }
  return textOf(message.content) === '' && filesOf(message.content).length === 0 ? undefined : rest
}
