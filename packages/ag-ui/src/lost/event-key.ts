import { EventType } from '@ag-ui/core'
import { textPieceOf } from '../log/text-piece.ts'
import type { AgUiEvent } from '../protocol.ts'

/** How an event is recognised when its run is translated again. */
export interface EventKey {
  readonly key: string
  /** The piece of a text that it adds: pieces may be cut differently the second time. */
  readonly delta?: string
  /** What it says as a whole: readers are corrected if it differs the second time. */
  readonly content?: string
  /** Whether it is part of the conversation: a message, a call, a result. */
  readonly said?: true
}

/** The key of an event. Contract: messages, calls, results and sub-agents are known by their id, everything else by its content. */
export function keyOf(event: AgUiEvent): EventKey {
  const { type } = event
  const piece = textPieceOf(event)
  if (piece) return type === EventType.CUSTOM ? piece : { ...piece, said: true }
  switch (type) {
    case EventType.RUN_STARTED:
      return { key: type }
    case EventType.TEXT_MESSAGE_START:
    case EventType.TEXT_MESSAGE_END:
    case EventType.REASONING_START:
    case EventType.REASONING_END:
    case EventType.REASONING_MESSAGE_START:
    case EventType.REASONING_MESSAGE_END:
      return { key: `${type} ${event.messageId}`, said: true }
    case EventType.TOOL_CALL_START:
    case EventType.TOOL_CALL_END:
      return { key: `${type} ${event.toolCallId}`, said: true }
    case EventType.TOOL_CALL_RESULT:
      return { key: `${type} ${event.toolCallId}`, content: JSON.stringify(event.content), said: true }
    case EventType.REASONING_ENCRYPTED_VALUE:
      return { key: `${type} ${event.entityId}`, said: true }
    default:
      return besidesOf(event)
  }
}

function besidesOf(event: AgUiEvent): EventKey {
  const { type } = event
  switch (type) {
    case EventType.STEP_STARTED:
    case EventType.STEP_FINISHED:
      return { key: JSON.stringify([type, event.subagentRunId, event.stepName]) }
    case EventType.SUBAGENT_STARTED:
    case EventType.SUBAGENT_FINISHED:
    case EventType.SUBAGENT_ERROR:
      return { key: `${type} ${event.subagentRunId}` }
    default:
      return { key: contentOf(event) }
  }
}

/** The same text for events of the same content, whatever the order of their keys and their time. */
function contentOf({ timestamp: _, ...event }: AgUiEvent): string {
  return JSON.stringify(event, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
