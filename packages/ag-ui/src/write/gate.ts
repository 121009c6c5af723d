import { type ContentPart, contentToText, EventType, type RunFinishedOutcome } from '@ag-ui/core'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'

/**
 * The version gate: reduces an event to what a client of this protocol version understands.
 * Contract: clients from 1.0 on get the event itself; clients that name no version get what 0.0.59 understands, and nothing is made up.
 * @example for await (const event of agUiAgent.run(input)) send([gate(event, input.protocolVersion)])
 */
export function gate(event: AgUiEvent, protocolVersion: string | undefined): AgUiEvent {
  if (isCurrent(protocolVersion)) return event
  switch (event.type) {
    case EventType.RUN_FINISHED: {
      const { outcome, ...rest } = event
      const known = outcome && knownOutcome(outcome)
      return outcome === known ? event : { ...rest, ...(known && { outcome: known }) }
    }
    case EventType.TOOL_CALL_RESULT:
      return typeof event.content === 'string' ? event : { ...event, content: contentToText(event.content) }
    case EventType.MESSAGES_SNAPSHOT:
      return { ...event, messages: event.messages.map(knownMessage) }
    case EventType.RUN_STARTED: {
      const { input } = event
      return input ? { ...event, input: { ...input, messages: input.messages.map(knownMessage) } } : event
    }
    default:
      return event
  }
}

function isCurrent(protocolVersion: string | undefined): boolean {
  return protocolVersion !== undefined && Number.parseInt(protocolVersion, 10) >= 1
}

function knownOutcome(outcome: RunFinishedOutcome): RunFinishedOutcome | undefined {
  if (outcome.type === 'cancelled') return undefined
  return outcome.type === 'success' && outcome.pendingToolCallIds ? { type: 'success' } : outcome
}

function knownMessage(message: AgUiMessage): AgUiMessage {
  if (message.role === 'tool' && typeof message.content !== 'string') {
    return { ...message, content: contentToText(message.content) }
  }
  if (message.role !== 'user' || typeof message.content === 'string' || message.content.every(isKnownPart)) {
    return message
  }
  return { ...message, content: message.content.filter(isKnownPart) }
}

/** Older clients do not know files that a provider keeps. */
function isKnownPart(part: ContentPart): boolean {
  return part.type === 'text' || part.source.type !== 'file'
}
