import { type ContentPart, contentToText, EventType, type RunFinishedOutcome } from '@ag-ui/core'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { FEATURE_OF } from '../translate/feature-of.ts'
import { type Understood, understoodBy } from './understood.ts'

/**
 * The version gate: reduces an event to what a client of this version accepts.
 * Contract: clients from 1.0 on get the event itself; undefined for an event that the client does not know; nothing is made up. `assumed` is the version of clients that name none.
 * @example for await (const event of agUiAgent.run(input)) send([gate(event, input.protocolVersion)].filter((shown) => shown !== undefined))
 */
export function gate(event: AgUiEvent, protocolVersion: string | undefined, assumed?: string): AgUiEvent | undefined {
  return knownEvent(event, understoodBy(protocolVersion, assumed))
}

/** The part of an event that a client accepts; undefined if it knows nothing of it. */
export function knownEvent(event: AgUiEvent, understood: Understood): AgUiEvent | undefined {
  if (understood.current) return event
  const feature = FEATURE_OF[event.type]
  if (feature && !understood[feature]) return undefined
  switch (event.type) {
    case EventType.RUN_FINISHED: {
      const { outcome, ...rest } = event
      return isKnownOutcome(outcome) ? event : rest
    }
    case EventType.TOOL_CALL_RESULT:
      return typeof event.content === 'string' ? event : { ...event, content: contentToText(event.content) }
    case EventType.MESSAGES_SNAPSHOT:
      return { ...event, messages: knownMessages(event.messages, understood) }
    case EventType.RUN_STARTED: {
      const { input } = event
      return input ? { ...event, input: { ...input, messages: knownMessages(input.messages, understood) } } : event
    }
    default:
      return event
  }
}

/** Without an outcome a client looks for open calls itself; one that reads `success` takes the run for done. */
function isKnownOutcome(outcome: RunFinishedOutcome | undefined): boolean {
  return outcome?.type !== 'cancelled' && !(outcome?.type === 'success' && outcome.pendingToolCallIds)
}

/** The messages that a client accepts. */
export function knownMessages(messages: readonly AgUiMessage[], understood: Understood): AgUiMessage[] {
  if (understood.current) return [...messages]
  return messages
    .filter(({ role }) => isKnownRole(role, understood))
    .map((message) => knownMessage(message, understood))
}

function isKnownRole(role: AgUiMessage['role'], { activities, reasoning }: Understood): boolean {
  if (role === 'activity') return activities
  return role !== 'reasoning' || reasoning
}

function knownMessage(message: AgUiMessage, { parts, media }: Understood): AgUiMessage {
  if (message.role === 'tool' && typeof message.content !== 'string') {
    return { ...message, content: contentToText(message.content) }
  }
  if (message.role !== 'user' || typeof message.content === 'string') return message
  if (!parts) return { ...message, content: contentToText(message.content) }
  const isKnown = (part: ContentPart) => part.type === 'text' || (media && part.source.type !== 'file')
  return message.content.every(isKnown) ? message : { ...message, content: message.content.filter(isKnown) }
}
