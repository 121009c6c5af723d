import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'
import { tagged } from '../translate/tag.ts'
import { checkOwner, type Opened, OpenKind, type Owners, type Terminal } from './open-kind.ts'

type EventOf<T extends EventType> = Extract<AgUiEvent, { type: T }>

/** The open entities of a run, by the rules that clients enforce. */
export class OpenEntities {
  readonly #messageOwners: Owners = new Map()
  readonly #thoughtOwners: Owners = new Map()
  readonly #callOwners: Owners = new Map()
  readonly #activityOwners: Owners = new Map()
  readonly #texts: OpenKind = new OpenKind('text message', this.#messageOwners)
  readonly #thoughts: OpenKind = new OpenKind('reasoning message', this.#thoughtOwners)
  readonly #spans: OpenKind = new OpenKind('reasoning', this.#thoughtOwners)
  readonly #calls: OpenKind = new OpenKind('tool call', this.#callOwners)
  readonly #steps: OpenKind = new OpenKind('step')
  readonly #subagents: OpenKind = new OpenKind('sub-agent')
  readonly #begunSubagents: Set<string> = new Set()
  readonly #answered: Set<string> = new Set()
  #count = 0

  /** Applies an event. Contract: returns the reason if the event is not legal, and then changes nothing. */
  take(event: AgUiEvent): string | undefined {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_CONTENT:
        return this.#texts.goOn(event.messageId, event.subagentRunId)
      case EventType.TOOL_CALL_ARGS:
        return this.#calls.goOn(event.toolCallId, event.subagentRunId)
      case EventType.REASONING_MESSAGE_CONTENT:
        return this.#thoughts.goOn(event.messageId, event.subagentRunId)
      case EventType.TEXT_MESSAGE_END:
        return this.#texts.end(event.messageId, event.subagentRunId)
      case EventType.TOOL_CALL_END:
        return this.#calls.end(event.toolCallId, event.subagentRunId)
      case EventType.REASONING_MESSAGE_END:
        return this.#thoughts.end(event.messageId, event.subagentRunId)
      case EventType.REASONING_END:
        return this.#spans.end(event.messageId, event.subagentRunId)
      case EventType.STEP_FINISHED:
        return this.#steps.end(stepKey(event), event.subagentRunId)
      case EventType.SUBAGENT_FINISHED:
      case EventType.SUBAGENT_ERROR:
        return this.#subagents.end(event.subagentRunId, undefined)
      case EventType.TOOL_CALL_RESULT:
        return this.#answer(event)
      case EventType.REASONING_ENCRYPTED_VALUE:
        return this.#seal(event)
      case EventType.ACTIVITY_SNAPSHOT:
        this.#activityOwners.set(event.messageId, event.subagentRunId)
        return undefined
      case EventType.ACTIVITY_DELTA:
        if (!this.#activityOwners.has(event.messageId)) return `there is no activity ${event.messageId}`
        return checkOwner('activity', event.messageId, event.subagentRunId, this.#activityOwners)
      case EventType.MESSAGES_SNAPSHOT:
        this.#restate(event)
        return undefined
      case EventType.TEXT_MESSAGE_CHUNK:
      case EventType.TOOL_CALL_CHUNK:
      case EventType.REASONING_MESSAGE_CHUNK:
        return 'chunks are not allowed; write START, CONTENT and END'
    }
    return this.#begin(event)
  }

  /** The ids of the open text messages. */
  texts(): Iterable<string> {
    return this.#texts.ids
  }

  /** The events that close all open entities, last opened first. */
  close(terminal: Terminal): AgUiEvent[] {
    const kinds = [this.#texts, this.#thoughts, this.#spans, this.#calls, this.#steps, this.#subagents]
    const open = kinds.flatMap((kind) => [...kind.opened])
    return open.sort((a, b) => b.order - a.order).map((opened) => opened.end(terminal))
  }

  #begin(event: AgUiEvent): string | undefined {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_START: {
        const { messageId } = event
        return this.#texts.begin(
          messageId,
          this.#ends(event.subagentRunId, { type: EventType.TEXT_MESSAGE_END, messageId }),
        )
      }
      case EventType.REASONING_START: {
        const { messageId } = event
        return this.#spans.begin(
          messageId,
          this.#ends(event.subagentRunId, { type: EventType.REASONING_END, messageId }),
        )
      }
      case EventType.REASONING_MESSAGE_START: {
        const { messageId } = event
        return this.#thoughts.begin(
          messageId,
          this.#ends(event.subagentRunId, { type: EventType.REASONING_MESSAGE_END, messageId }),
        )
      }
      case EventType.TOOL_CALL_START:
        return this.#beginCall(event)
      case EventType.STEP_STARTED: {
        const { stepName } = event
        return this.#steps.begin(
          stepKey(event),
          this.#ends(event.subagentRunId, { type: EventType.STEP_FINISHED, stepName }),
        )
      }
      case EventType.SUBAGENT_STARTED:
        return this.#beginSubagent(event)
    }
    return undefined
  }

  /** A call belongs to the message that carries it. */
  #beginCall(event: EventOf<EventType.TOOL_CALL_START>): string | undefined {
    const { toolCallId, parentMessageId, subagentRunId } = event
    const inherited = parentMessageId !== undefined && this.#messageOwners.has(parentMessageId)
    const owner = inherited ? this.#messageOwners.get(parentMessageId) : subagentRunId
    if (subagentRunId !== undefined && owner !== subagentRunId) {
      return `tool call ${toolCallId} belongs to a message of another agent`
    }
    const end = { type: EventType.TOOL_CALL_END, toolCallId } as const
    return this.#calls.begin(toolCallId, this.#ends(owner, end))
  }

  #beginSubagent(event: EventOf<EventType.SUBAGENT_STARTED>): string | undefined {
    const { subagentRunId, parentSubagentRunId } = event
    if (this.#begunSubagents.has(subagentRunId)) return `sub-agent ${subagentRunId} has already begun`
    if (parentSubagentRunId !== undefined && !this.#begunSubagents.has(parentSubagentRunId)) {
      return `there is no parent sub-agent ${parentSubagentRunId}`
    }
    this.#begunSubagents.add(subagentRunId)
    const end = (terminal: Terminal) => endOfSubagent(subagentRunId, terminal)
    return this.#subagents.begin(subagentRunId, { order: this.#count++, owner: undefined, end })
  }

  #answer({ toolCallId, messageId, subagentRunId }: EventOf<EventType.TOOL_CALL_RESULT>): string | undefined {
    if (this.#answered.has(toolCallId)) return `tool call ${toolCallId} already has a result`
    this.#answered.add(toolCallId)
    this.#messageOwners.set(messageId, subagentRunId)
    return undefined
  }

  #seal({ subtype, entityId, subagentRunId }: EventOf<EventType.REASONING_ENCRYPTED_VALUE>): string | undefined {
    const messages = this.#messageOwners.has(entityId) ? this.#messageOwners : this.#thoughtOwners
    return checkOwner('message', entityId, subagentRunId, subtype === 'tool-call' ? this.#callOwners : messages)
  }

  /** Takes over the owners that a snapshot names. */
  #restate({ messages }: EventOf<EventType.MESSAGES_SNAPSHOT>): void {
    for (const message of messages) {
      const { id, role, subagentRunId } = message
      if (role === 'reasoning') this.#thoughtOwners.set(id, subagentRunId)
      else if (role === 'activity') this.#activityOwners.set(id, subagentRunId)
      else this.#messageOwners.set(id, subagentRunId)
      if (role === 'assistant') for (const call of message.toolCalls ?? []) this.#callOwners.set(call.id, subagentRunId)
    }
  }

  #ends(owner: string | undefined, end: Parameters<typeof tagged>[0]): Opened {
    return { order: this.#count++, owner, end: () => tagged(end, owner) }
  }
}

function stepKey({ stepName, subagentRunId }: EventOf<EventType.STEP_STARTED | EventType.STEP_FINISHED>): string {
  return subagentRunId === undefined ? stepName : `${subagentRunId}\0${stepName}`
}

function endOfSubagent(subagentRunId: string, terminal: Terminal): AgUiEvent {
  const outcome = terminal.type === EventType.RUN_FINISHED ? terminal.outcome : undefined
  if (outcome?.type === 'interrupt') {
    return { type: EventType.SUBAGENT_FINISHED, subagentRunId, outcome: { type: 'suspended' } }
  }
  if (terminal.type === EventType.RUN_FINISHED && outcome?.type !== 'cancelled') {
    return { type: EventType.SUBAGENT_FINISHED, subagentRunId }
  }
  const code = outcome ? 'ABORTED' : 'AGENT_ERROR'
  return { type: EventType.SUBAGENT_ERROR, subagentRunId, message: 'The run ended before the sub-agent.', code }
}
