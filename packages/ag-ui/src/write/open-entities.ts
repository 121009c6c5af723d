import { type AGUIEventOf, EventType } from '@ag-ui/core'
import type { AgUiEvent } from '../protocol.ts'
import { brokenSubagent } from '../translate/run-view.ts'
import { tagged } from '../translate/tagged.ts'

type Kind = 'text message' | 'reasoning message' | 'reasoning' | 'tool call' | 'step' | 'sub-agent'

/** Something that has begun and must end. */
interface Open {
  readonly kind: Kind
  readonly id: string
  readonly owner: string | undefined
  /** Makes the event that ends it before this terminal. */
  end(terminal: AgUiEvent): AgUiEvent
}

/** The owner of each id. Contract: an id keeps its owner for the whole run. */
type Owners = Map<string, string | undefined>

/** The open entities of a run, by the rules that clients enforce. */
export class OpenEntities {
  readonly #messages: Owners = new Map()
  readonly #thoughts: Owners = new Map()
  readonly #calls: Owners = new Map()
  readonly #activities: Owners = new Map()
  readonly #owners: Record<Kind, Owners> = {
    'text message': this.#messages,
    'reasoning message': this.#thoughts,
    reasoning: this.#thoughts,
    'tool call': this.#calls,
    step: new Map(),
    'sub-agent': new Map(),
  }
  /** By kind and id, in the order in which they began. */
  readonly #open: Map<string, Open> = new Map()
  readonly #begunSubagents: Set<string> = new Set()
  readonly #answered: Set<string> = new Set()

  /** Applies an event. Contract: returns the reason if the event is not legal, and then changes nothing. */
  take(event: AgUiEvent): string | undefined {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_CONTENT:
        return this.#goOn('text message', event.messageId, event.subagentRunId)
      case EventType.TOOL_CALL_ARGS:
        return this.#goOn('tool call', event.toolCallId, event.subagentRunId)
      case EventType.REASONING_MESSAGE_CONTENT:
        return this.#goOn('reasoning message', event.messageId, event.subagentRunId)
      case EventType.TEXT_MESSAGE_END:
        return this.#end('text message', event.messageId, event.subagentRunId)
      case EventType.TOOL_CALL_END:
        return this.#end('tool call', event.toolCallId, event.subagentRunId)
      case EventType.REASONING_MESSAGE_END:
        return this.#end('reasoning message', event.messageId, event.subagentRunId)
      case EventType.REASONING_END:
        return this.#end('reasoning', event.messageId, event.subagentRunId)
      case EventType.STEP_FINISHED:
        return this.#end('step', stepKey(event), event.subagentRunId)
      case EventType.SUBAGENT_FINISHED:
      case EventType.SUBAGENT_ERROR:
        return this.#end('sub-agent', event.subagentRunId, undefined)
      case EventType.TEXT_MESSAGE_CHUNK:
      case EventType.TOOL_CALL_CHUNK:
      case EventType.REASONING_MESSAGE_CHUNK:
        return 'chunks are not allowed; write START, CONTENT and END'
    }
    return this.#takeWhole(event)
  }

  /** The ids of the open text messages. */
  texts(): readonly string[] {
    return [...this.#open.values()].filter(({ kind }) => kind === 'text message').map(({ id }) => id)
  }

  /** The events that close all open entities, last opened first. */
  close(terminal: AgUiEvent): AgUiEvent[] {
    return [...this.#open.values()].reverse().map((open) => open.end(terminal))
  }

  /** Applies an event that neither continues nor ends an open entity. */
  #takeWhole(event: AgUiEvent): string | undefined {
    switch (event.type) {
      case EventType.TOOL_CALL_RESULT:
        return this.#answer(event)
      case EventType.REASONING_ENCRYPTED_VALUE:
        return this.#seal(event)
      case EventType.ACTIVITY_SNAPSHOT:
        this.#activities.set(event.messageId, event.subagentRunId)
        return undefined
      case EventType.ACTIVITY_DELTA:
        if (!this.#activities.has(event.messageId)) return `there is no activity ${event.messageId}`
        return checkOwner('activity', event.messageId, event.subagentRunId, this.#activities)
      case EventType.MESSAGES_SNAPSHOT:
        this.#restate(event)
        return undefined
    }
    return this.#takeStart(event)
  }

  #takeStart(event: AgUiEvent): string | undefined {
    switch (event.type) {
      case EventType.TEXT_MESSAGE_START: {
        const { messageId, subagentRunId } = event
        const end = { type: EventType.TEXT_MESSAGE_END, messageId } as const
        return this.#begin('text message', messageId, subagentRunId, () => tagged(end, subagentRunId))
      }
      case EventType.REASONING_START: {
        const { messageId, subagentRunId } = event
        const end = { type: EventType.REASONING_END, messageId } as const
        return this.#begin('reasoning', messageId, subagentRunId, () => tagged(end, subagentRunId))
      }
      case EventType.REASONING_MESSAGE_START: {
        const { messageId, subagentRunId } = event
        const end = { type: EventType.REASONING_MESSAGE_END, messageId } as const
        return this.#begin('reasoning message', messageId, subagentRunId, () => tagged(end, subagentRunId))
      }
      case EventType.STEP_STARTED: {
        const { stepName, subagentRunId } = event
        const end = { type: EventType.STEP_FINISHED, stepName } as const
        return this.#begin('step', stepKey(event), subagentRunId, () => tagged(end, subagentRunId))
      }
      case EventType.TOOL_CALL_START:
        return this.#beginCall(event)
      case EventType.SUBAGENT_STARTED:
        return this.#beginSubagent(event)
    }
    return undefined
  }

  /** A call belongs to the message that carries it. */
  #beginCall(event: AGUIEventOf<EventType.TOOL_CALL_START>): string | undefined {
    const { toolCallId, parentMessageId, subagentRunId } = event
    const inherited = parentMessageId !== undefined && this.#messages.has(parentMessageId)
    const owner = inherited ? this.#messages.get(parentMessageId) : subagentRunId
    if (subagentRunId !== undefined && owner !== subagentRunId) {
      return `tool call ${toolCallId} belongs to a message of another agent`
    }
    const end = { type: EventType.TOOL_CALL_END, toolCallId } as const
    return this.#begin('tool call', toolCallId, owner, () => tagged(end, owner))
  }

  #beginSubagent(event: AGUIEventOf<EventType.SUBAGENT_STARTED>): string | undefined {
    const { subagentRunId, parentSubagentRunId } = event
    if (this.#begunSubagents.has(subagentRunId)) return `sub-agent ${subagentRunId} has already begun`
    if (parentSubagentRunId !== undefined && !this.#begunSubagents.has(parentSubagentRunId)) {
      return `there is no parent sub-agent ${parentSubagentRunId}`
    }
    this.#begunSubagents.add(subagentRunId)
    return this.#begin('sub-agent', subagentRunId, undefined, (terminal) => brokenSubagent(subagentRunId, terminal))
  }

  #answer({ toolCallId, messageId, subagentRunId }: AGUIEventOf<EventType.TOOL_CALL_RESULT>): string | undefined {
    if (this.#answered.has(toolCallId)) return `tool call ${toolCallId} already has a result`
    this.#answered.add(toolCallId)
    this.#messages.set(messageId, subagentRunId)
    return undefined
  }

  #seal({ subtype, entityId, subagentRunId }: AGUIEventOf<EventType.REASONING_ENCRYPTED_VALUE>): string | undefined {
    const messages = this.#messages.has(entityId) ? this.#messages : this.#thoughts
    return checkOwner('message', entityId, subagentRunId, subtype === 'tool-call' ? this.#calls : messages)
  }

  /** Takes over the owners that a snapshot names. */
  #restate({ messages }: AGUIEventOf<EventType.MESSAGES_SNAPSHOT>): void {
    for (const message of messages) {
      const { id, role, subagentRunId } = message
      if (role === 'reasoning') this.#thoughts.set(id, subagentRunId)
      else if (role === 'activity') this.#activities.set(id, subagentRunId)
      else this.#messages.set(id, subagentRunId)
      if (role === 'assistant') for (const call of message.toolCalls ?? []) this.#calls.set(call.id, subagentRunId)
    }
  }

  #begin(kind: Kind, id: string, owner: string | undefined, end: Open['end']): string | undefined {
    const key = `${kind}\0${id}`
    if (this.#open.has(key)) return `${kind} ${id} is already open`
    const owners = this.#owners[kind]
    const reason = checkOwner(kind, id, owner, owners)
    if (reason !== undefined) return reason
    if (!owners.has(id)) owners.set(id, owner)
    this.#open.set(key, { kind, id, owner, end })
    return undefined
  }

  #goOn(kind: Kind, id: string, owner: string | undefined): string | undefined {
    const open = this.#open.get(`${kind}\0${id}`)
    if (!open) return `${kind} ${id} is not open`
    return owner === undefined || owner === open.owner ? undefined : foreign(kind, id)
  }

  #end(kind: Kind, id: string, owner: string | undefined): string | undefined {
    const reason = this.#goOn(kind, id, owner)
    if (reason === undefined) this.#open.delete(`${kind}\0${id}`)
    return reason
  }
}

function stepKey({ stepName, subagentRunId }: AGUIEventOf<EventType.STEP_STARTED | EventType.STEP_FINISHED>): string {
  return subagentRunId === undefined ? stepName : `${subagentRunId}\0${stepName}`
}

/** Checks the owner of an id. Contract: an event without a tag fits every owner. */
function checkOwner(name: string, id: string, owner: string | undefined, owners: Owners): string | undefined {
  return owner === undefined || !owners.has(id) || owners.get(id) === owner ? undefined : foreign(name, id)
}

function foreign(name: string, id: string): string {
  return `${name} ${id} belongs to another agent`
}
