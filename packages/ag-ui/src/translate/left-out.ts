import type { AssistantMessage, Content } from '@troupe/kernel'
import type { AgUiMessage } from '../protocol.ts'

/** What can be left out for clients. */
export type Omissible = 'reasoning' | 'activities' | 'subagents' | 'structured-output'

/** The messages without what clients are not to see. */
export function withoutOmitted(messages: readonly AgUiMessage[], omit: readonly Omissible[]): readonly AgUiMessage[] {
  if (omit.length === 0) return messages
  const activities = !omit.includes('activities')
  const reasoning = !omit.includes('reasoning')
  const kept = messages.filter(({ role }) => (role === 'activity' ? activities : role !== 'reasoning' || reasoning))
  return reasoning ? kept : kept.map(withoutEncrypted)
}

/** The encrypted reasoning of a message belongs to its reasoning. */
function withoutEncrypted(message: AgUiMessage): AgUiMessage {
  if (message.role !== 'assistant' || message.encryptedValue === undefined) return message
  const { encryptedValue: _, ...rest } = message
  return rest
}

/** The content of an assistant message that clients see: without its text, if that is structured output and they are not to see it. */
export function seenContent(
  { content, structured, toolCalls }: AssistantMessage,
  omit: readonly Omissible[] = [],
): Content {
  if (!structured || toolCalls?.length || !omit.includes('structured-output')) return content
  return typeof content === 'string' ? '' : content.filter(({ type }) => type !== 'text')
}
