import { EventType, type RunFinishedOutcome } from '@ag-ui/core'
import type { AgentEvent, EventOf, ToolCall } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import type { CallTranslator } from './call-translator.ts'
import { filesOf } from './content.ts'
import type { Conversation } from './conversation.ts'
import { type Omissible, seenContent } from './left-out.ts'
import type { RunView } from './run-view.ts'
import type { ShownCall } from './shown-call.ts'
import { ShownMessage } from './shown-message.ts'
import { tagged } from './tagged.ts'
import { FILE_ACTIVITY, fileContent, fileId } from './to-ag-ui-messages.ts'

type DeltaEvent = Extract<AgentEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>
type MessageEvent = Extract<AgentEvent, { type: `${'message' | 'tool-call' | 'tool'}-${'start' | 'end'}` }>

/** Translates messages and calls. Contract: streamed content is not repeated; content that changed later is corrected by a snapshot. */
export class MessageTranslator {
  readonly #conversation: Conversation
  readonly #calls: CallTranslator
  readonly #omit: readonly Omissible[]
  readonly #shown: Set<ShownMessage> = new Set()
  /** The client has content that is not in the history; a snapshot removes it when the run goes on. */
  #stale = false

  constructor(conversation: Conversation, calls: CallTranslator, omit: readonly Omissible[] = []) {
    this.#conversation = conversation
    this.#calls = calls
    this.#omit = omit
  }

  /** A call of this run, by the id that clients know. */
  call(id: string): ShownCall | undefined {
    return this.#calls.get(id)
  }

  /** Writes a piece of text, of reasoning or of arguments. */
  writeDelta(event: DeltaEvent, view: RunView, out: AgUiEvent[]): void {
    const { delta, type } = event
    if (typeof delta !== 'string' || delta === '') return
    if (type === 'tool-call-delta') return void this.#calls.get(view.prefix + event.callId)?.add(delta, out)
    const { messageId, agentName } = event
    if (type === 'text-delta' && view.withheld.has(messageId)) return
    const shown = view.messages.get(messageId) ?? this.#open(messageId, agentName, view, out)
    if (shown.ended) return
    if (type === 'text-delta') shown.addText(delta, out)
    else shown.addReasoning(delta, out)
  }

  write(event: MessageEvent, view: RunView, out: AgUiEvent[]): void {
    switch (event.type) {
      case 'message-start':
        if (event.structured && this.#omit.includes('structured-output')) view.withheld.add(event.messageId)
        this.#correct(out)
        break
      case 'message-end':
        this.#endMessage(event, view, out)
        break
      case 'tool-call-start':
        this.#startCall(event, view, out)
        break
      case 'tool-call-end':
        this.#endCall(event, view, out)
        break
      case 'tool-start':
        this.#startTool(event, view, out)
        break
      case 'tool-end':
        this.#endTool(event, view, out)
        break
    }
  }

  /** Ends the messages and calls that a nested run left open. */
  leave({ outcome, openCallIds }: EventOf<'run-end'>, view: RunView, out: AgUiEvent[]): void {
    for (const shown of view.messages.values()) if (!shown.ended) shown.end(out)
    const waits = outcome === 'interrupted' || openCallIds !== undefined
    this.#calls.settle(() => waits, view, out)
  }

  /** Ends the messages and calls that the run left open. Contract: a call of a client tool ends only if the run waits for its result. */
  finish(outcome: RunFinishedOutcome | undefined, out: AgUiEvent[]): void {
    for (const shown of this.#shown) if (!shown.ended) shown.end(out)
    if (outcome?.type === 'success') {
      const open = new Set(outcome.pendingToolCallIds)
      this.#calls.settle(({ id }) => open.has(id), undefined, out)
    } else this.#calls.settle(({ held }) => outcome?.type === 'interrupt' || !held, undefined, out)
    if (outcome && outcome.type !== 'cancelled') this.#correct(out)
  }

  /** Shows the whole conversation. */
  show(out: AgUiEvent[]): void {
    this.#conversation.show(out)
  }

  #endMessage(event: EventOf<'message-end'>, view: RunView, out: AgUiEvent[]): void {
    const { message, dropped, agentName } = event
    const known = view.messages.get(message.id)
    if (dropped) {
      if (known && !known.ended) this.#drop(known, out)
      return
    }
    if (known?.ended) return void this.#showCalls(known, message.toolCalls, view, out)
    const shown = known ?? this.#open(message.id, agentName, view, out)
    if (!shown.complete(seenContent(message, this.#omit), out)) this.#stale = true
    const wanted = this.#showCalls(shown, message.toolCalls, view, out)
    for (const { id } of shown.calls.values()) if (!wanted.has(id)) this.#takeBack(id, out)
    shown.end(out, event.finishReason, message.partial)
    for (const [i, file] of filesOf(message.content).entries()) {
      const activity = { messageId: fileId(shown.id, i), activityType: FILE_ACTIVITY, content: fileContent(file) }
      out.push(tagged({ type: EventType.ACTIVITY_SNAPSHOT, ...activity, replace: true }, view.owner))
    }
    this.#correct(out)
  }

  /** Shows the calls of a message as the history has them; returns their ids. */
  #showCalls(
    shown: ShownMessage,
    calls: readonly ToolCall[] = [],
    view: RunView,
    out: AgUiEvent[],
  ): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const { id: callId, name, arguments: args } of calls) {
      const id = view.prefix + callId
      ids.add(id)
      const call = this.#calls.get(id) ?? this.#calls.start(id, name, shown, out)
      if (!call.complete(args, out)) this.#stale = true
      if (!call.held) call.end(out)
    }
    return ids
  }

  /** Ends the message of a failed attempt; the client keeps it until the next attempt begins, or for good if there is none. */
  #drop(shown: ShownMessage, out: AgUiEvent[]): void {
    if (shown.visible) this.#stale = true
    shown.end(out)
    for (const { id } of shown.calls.values()) this.#calls.get(id)?.withdraw(out)
    this.#conversation.drop(shown)
  }

  #startCall(
    { messageId, callId, name, agentName }: EventOf<'tool-call-start'>,
    view: RunView,
    out: AgUiEvent[],
  ): void {
    const id = view.prefix + callId
    if (this.#calls.isKnown(id)) return
    const shown = view.messages.get(messageId) ?? this.#open(messageId, agentName, view, out)
    this.#calls.start(id, name, shown, out)
  }

  #endCall({ call: { id, arguments: args } }: EventOf<'tool-call-end'>, view: RunView, out: AgUiEvent[]): void {
    const call = this.#calls.get(view.prefix + id)
    if (!call) return
    if (!call.complete(args, out)) this.#stale = true
    if (!call.held) call.end(out)
  }

  #startTool(
    { callId, name, arguments: args, agentName }: EventOf<'tool-start'>,
    view: RunView,
    out: AgUiEvent[],
  ): void {
    const id = view.prefix + callId
    if (!this.#calls.isKnown(id)) this.#calls.announce(id, name, args, agentName, view, out)
  }

  #endTool(event: EventOf<'tool-end'>, view: RunView, out: AgUiEvent[]): void {
    const id = view.prefix + event.callId
    const call = this.#calls.get(id)
    if (event.status !== 'dropped') this.#calls.answer(id, event, view, out)
    else if (call && !call.answered) this.#takeBack(id, out)
  }

  #takeBack(id: string, out: AgUiEvent[]): void {
    this.#calls.drop(id, out)
    this.#stale = true
  }

  #open(messageId: string, agentName: string, view: RunView, out: AgUiEvent[]): ShownMessage {
    this.#correct(out)
    const shown = new ShownMessage(this.#conversation.claim(messageId, view.runId), view.owner, agentName)
    view.messages.set(messageId, shown)
    this.#shown.add(shown)
    this.#conversation.add(shown)
    return shown
  }

  #correct(out: AgUiEvent[]): void {
    if (!this.#stale) return
    this.#stale = false
    this.#conversation.show(out)
  }
}
