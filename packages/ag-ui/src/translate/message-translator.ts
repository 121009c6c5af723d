import { EventType, type RunFinishedOutcome } from '@ag-ui/core'
import type { AgentEvent, EventOf, ToolCall } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { type CallOptions, CallTranslator } from './call-translator.ts'
import { filesOf } from './content.ts'
import type { Conversation } from './conversation.ts'
import { FILE_ACTIVITY, fileContent, fileId } from './messages.ts'
import type { RunView } from './run-view.ts'
import type { ShownCall } from './shown-call.ts'
import { ShownMessage } from './shown-message.ts'
import { tagged } from './tag.ts'

type MessageEvent = Extract<
  AgentEvent,
  {
    type:
      | `message-${string}`
      | `text-${string}`
      | `reasoning-${string}`
      | `tool-call-${string}`
      | 'tool-start'
      | 'tool-end'
  }
>

const NOTHING: readonly AgUiEvent[] = []

/** Translates messages and calls. Contract: streamed content is not repeated; content that changed later is corrected by a snapshot. */
export class MessageTranslator {
  readonly #conversation: Conversation
  readonly #calls: CallTranslator
  /** Message ids that the client has from this run. */
  readonly #ids: Set<string> = new Set()
  readonly #shown: Set<ShownMessage> = new Set()
  /** The client has content that is not in the history; a snapshot removes it when the run goes on. */
  #stale = false

  constructor(conversation: Conversation, options: CallOptions) {
    this.#conversation = conversation
    this.#calls = new CallTranslator(conversation, options)
  }

  /** A call of this run, by the id that clients know. */
  call(id: string): ShownCall | undefined {
    return this.#calls.get(id)
  }

  translate(event: MessageEvent, view: RunView): readonly AgUiEvent[] {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return this.#delta(event, view)
      case 'tool-call-delta':
        return isText(event.delta)
          ? (this.#calls.get(view.prefix + event.callId)?.add(event.delta) ?? NOTHING)
          : NOTHING
    }
    const out: AgUiEvent[] = []
    switch (event.type) {
      case 'message-start':
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
    return out
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

  #delta(event: Extract<MessageEvent, { delta: string; messageId: string }>, view: RunView): readonly AgUiEvent[] {
    const { messageId, delta, type } = event
    if (!isText(delta)) return NOTHING
    const known = view.messages.get(messageId)
    if (known?.ended) return NOTHING
    if (known) return type === 'text-delta' ? known.addText(delta) : known.addReasoning(delta)
    const out: AgUiEvent[] = []
    const shown = this.#open(messageId, event.agentName, view, out)
    const added = type === 'text-delta' ? shown.addText(delta) : shown.addReasoning(delta)
    return out.length === 0 ? added : [...out, ...added]
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
    if (!shown.complete(message.content, out)) this.#stale = true
    const wanted = this.#showCalls(shown, message.toolCalls, view, out)
    for (const call of shown.calls.values()) if (!wanted.has(call.id)) this.#takeBack(call, out)
    shown.end(out, event.finishReason)
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
    for (const call of shown.calls.values()) call.withdraw(out)
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
    if (event.status !== 'dropped') this.#calls.answer(id, this.#free(event.messageId, view), event, view, out)
    else if (call && !call.answered) this.#takeBack(call, out)
  }

  #takeBack(call: ShownCall, out: AgUiEvent[]): void {
    this.#calls.drop(call, out)
    this.#stale = true
  }

  #open(messageId: string, agentName: string, view: RunView, out: AgUiEvent[]): ShownMessage {
    this.#correct(out)
    const shown = new ShownMessage(this.#free(messageId, view), view.owner, agentName)
    view.messages.set(messageId, shown)
    this.#shown.add(shown)
    this.#conversation.add(shown)
    return shown
  }

  /** An agent of another run may use the same id. */
  #free(messageId: string, view: RunView): string {
    let id = String(messageId)
    for (let n = 1; this.#ids.has(id); n++) id = `${view.runId}/${messageId}@${n}`
    this.#ids.add(id)
    return id
  }

  #correct(out: AgUiEvent[]): void {
    if (!this.#stale) return
    this.#stale = false
    this.#conversation.show(out)
  }
}

function isText(delta: unknown): delta is string {
  return typeof delta === 'string' && delta !== ''
}
