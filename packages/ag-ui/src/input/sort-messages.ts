import type { UserMessage as AgUiUserMessage, RunAgentInput } from '@ag-ui/core'
import type { Thread, ToolMessage, UserMessage } from '@troupe/kernel'
import { withMessageMetadata } from '../translate/client-metadata.ts'
import { kernelContent, type Room } from './kernel-content.ts'
import { type ToolResultMode, toolResult } from './tool-result.ts'

/** The messages of a client that a thread does not have yet. */
interface NewMessages {
  /** Results for open calls of this thread; the first result of a call counts. */
  readonly results: readonly ToolMessage[]
  readonly users: readonly UserMessage[]
  /** The ids of all new messages, including ignored ones: they are not looked at again. */
  readonly processed: readonly string[]
  /** Calls with a result that are not open: answered before, or never made. */
  readonly notOpen: readonly string[]
}

/** The messages of a request that a thread already knows. */
interface KnownMessages {
  /** Processed before. */
  readonly done: ReadonlySet<string>
  /** Stored in the thread, processed or not. */
  readonly stored: ReadonlySet<string>
}

/**
 * Sorts the messages of a run input.
 * Contract: the store owns the history, so only user messages and results of open calls count; processed messages are ignored.
 */
export function sortMessages(
  { messages }: Pick<RunAgentInput, 'messages'>,
  openCalls: Thread['openCalls'],
  { done, stored }: KnownMessages,
  mode: ToolResultMode,
  room: Room,
): NewMessages {
  const waiting = new Map(openCalls.map((call) => [call.callId, call]))
  const results = new Map<string, ToolMessage>()
  const users: UserMessage[] = []
  const processed = new Set<string>()
  const notOpen: string[] = []
  for (const message of messages) {
    if (done.has(message.id)) continue
    processed.add(message.id)
    if (message.role === 'user' && !stored.has(message.id)) {
      users.push(userMessage(message, room))
    }
    if (message.role !== 'tool') continue
    const { toolCallId } = message
    const call = waiting.get(toolCallId)
    if (!call) notOpen.push(toolCallId)
    else if (!results.has(toolCallId)) results.set(toolCallId, toolResult(message, call, mode, room))
  }
  return { results: [...results.values()], users, processed: [...processed], notOpen }
}

/** Converts a new user message. */
export function userMessage({ id, content, ...noted }: AgUiUserMessage, room: Room): UserMessage {
  return { id, role: 'user', content: withMessageMetadata(kernelContent(content, room), noted) }
}
