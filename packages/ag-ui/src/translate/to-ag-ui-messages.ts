import type { ActivityMessage, AssistantMessage, ReasoningMessage } from '@ag-ui/core'
import { type Content, type FilePart, type Message, type ToolCall, textOf } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { AgUiMessage } from '../protocol.ts'
import { messageMetadata } from './client-metadata.ts'
import { clientToolError, contentOf, filesOf, resultOf } from './content.ts'
import { type Omissible, seenContent, withoutOmitted } from './left-out.ts'
import { ownName } from './own-name.ts'
import { segmentId, segmentsOf } from './shown-reasoning.ts'

/** How stored messages are shown. */
export interface MessageOptions {
  /** Whether clients see the errors that tools threw. @default false */
  readonly showToolErrors?: boolean
  /** What clients are not to see, as in `show.omit`. @default none */
  readonly omit?: readonly Omissible[]
  /** What the model sees before the names of client tools. @default none */
  readonly clientToolPrefix?: string
}

/**
 * A stored history as AG-UI clients keep it.
 * Contract: ids and texts are the same as in the stream.
 * @example toAgUiMessages([{ id: 'u1', role: 'user', content: 'Hi' }]) // [{ id: 'u1', role: 'user', content: 'Hi' }]
 */
export function toAgUiMessages(messages: readonly Message[], options: MessageOptions = {}): AgUiMessage[] {
  checkOptionNames('toAgUiMessages', options, { showToolErrors: true, omit: true, clientToolPrefix: true })
  const { omit = [] } = options
  return [
    ...withoutOmitted(
      messages.flatMap((message) => shown(message, options)),
      omit,
    ),
  ]
}

function shown(message: Message, options: MessageOptions): AgUiMessage[] {
  const { id } = message
  const { showToolErrors = false, omit, clientToolPrefix } = options
  switch (message.role) {
    case 'system':
      return [{ id, role: 'system', content: textOf(message.content) }]
    case 'user': {
      const { agentName: name } = message
      return [
        {
          id,
          role: 'user',
          content: contentOf(message.content),
          ...messageMetadata(message),
          ...(name !== undefined && { name }),
        },
      ]
    }
    case 'tool':
      return [
        {
          id,
          role: 'tool',
          toolCallId: message.callId,
          ...resultOf(message, showToolErrors),
          ...clientToolError(message),
        },
      ]
    case 'assistant':
      return assistantMessages(message, seenContent(message, omit), clientToolPrefix)
  }
}

/** The activity under which a client keeps a file that a model made. */
export const FILE_ACTIVITY = 'file'

/** The id of that activity. */
export function fileId(messageId: string, index: number): string {
  return `${messageId}:file:${index + 1}`
}

/** The content of that activity. */
export function fileContent({ mediaType, name, data, url }: FilePart): Record<string, string> {
  return {
    mediaType,
    ...(name !== undefined && { name }),
    ...(data !== undefined && { data }),
    ...(url !== undefined && { url }),
  }
}

/** Calls as clients keep them. */
export function callsOf(
  calls: readonly ToolCall[],
  clientToolPrefix?: string,
): NonNullable<AssistantMessage['toolCalls']> {
  return calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name: ownName(name, clientToolPrefix), arguments: args },
  }))
}

/** Tells a client that the model of a message was cut off. */
export const PARTIAL: { readonly metadata: { readonly partial: true } } = { metadata: { partial: true } }

function assistantMessages(
  stored: Message & { role: 'assistant' },
  content: Content,
  clientToolPrefix: string | undefined,
): AgUiMessage[] {
  const { id, agentName, toolCalls = [], partial } = stored
  const text = textOf(content)
  const segments = segmentsOf(content)
  const encryptedValue = segments.findLast((segment) => segment.text === '')?.encrypted
  const shown = segments.filter((segment) => segment.text !== '')
  const thoughts = shown.map(({ text, encrypted, afterText }, i) => ({
    afterText,
    message: {
      id: segmentId(id, i),
      role: 'reasoning',
      content: text,
      ...(encrypted !== undefined && { encryptedValue: encrypted }),
    } satisfies ReasoningMessage,
  }))
  const message: AssistantMessage = {
    id,
    role: 'assistant',
    ...(agentName !== undefined && { name: agentName }),
    ...(text !== '' && { content: text }),
    ...(toolCalls.length > 0 && { toolCalls: callsOf(toolCalls, clientToolPrefix) }),
    ...(encryptedValue !== undefined && { encryptedValue }),
    ...(partial && PARTIAL),
  }
  const files = filesOf(content).map(
    (file, i): ActivityMessage => ({
      id: fileId(id, i),
      role: 'activity',
      activityType: FILE_ACTIVITY,
      content: fileContent(file),
    }),
  )
  return [
    ...thoughts.filter(({ afterText }) => !afterText).map(({ message }) => message),
    ...(text === '' && toolCalls.length === 0 ? [] : [message]),
    ...thoughts.filter(({ afterText }) => afterText).map(({ message }) => message),
    ...files,
  ]
}
