import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'

/** A piece of a text that comes in several events. */
export interface TextPiece {
  /** The same for all pieces of a text. */
  readonly key: string
  readonly delta: string
}

/** The piece of a text that an event adds: of a message, a thought, the arguments of a call, or what a tool shows while it runs. */
export function textPieceOf(event: AgUiEvent): TextPiece | undefined {
  const { type } = event
  switch (type) {
    case EventType.TEXT_MESSAGE_CONTENT:
    case EventType.REASONING_MESSAGE_CONTENT:
      return { key: `${type} ${event.messageId}`, delta: event.delta }
    case EventType.TOOL_CALL_ARGS:
      return { key: `${type} ${event.toolCallId}`, delta: event.delta }
    case EventType.CUSTOM: {
      const { toolCallId, delta } = Object(event.value) as Record<string, unknown>
      if (event.name !== 'tool-delta' || typeof delta !== 'string') return undefined
      return { key: `output ${toolCallId}`, delta }
    }
    default:
      return undefined
  }
}

/** The same event with another piece of its text. */
export function withDelta(event: AgUiEvent, delta: string): AgUiEvent {
  if (event.type === EventType.CUSTOM) return { ...event, value: { ...event.value, delta } }
  return { ...event, delta } as AgUiEvent
}
