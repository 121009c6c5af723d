import { EventType } from '@ag-ui/core'
import type { ToolEnd } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { resultOf } from './content.ts'
import type { Conversation } from './conversation.ts'
import type { RunView } from './run-view.ts'
import { Said } from './said.ts'
import { ShownCall } from './shown-call.ts'
import { tagged } from './tag.ts'

/** How calls are shown. */
export interface CallOptions {
  readonly clientTools?: ReadonlySet<string>
  readonly showToolErrors?: boolean
}

/** Calls and their results for a client. */
export class CallStream {
  readonly #conversation: Conversation
  readonly #options: CallOptions
  /** By the id that clients know. */
  readonly #calls: Map<string, ShownCall> = new Map()

  constructor(conversation: Conversation, options: CallOptions) {
    this.#conversation = conversation
    this.#options = options
  }

  get(id: string): ShownCall | undefined {
    return this.#calls.get(id)
  }

  start(id: string, name: string, said: Said, out: AgUiEvent[]): ShownCall {
    const call = new ShownCall(id, name, said, this.#options.clientTools?.has(name) ?? false)
    this.#calls.set(id, call)
    call.start(out)
    return call
  }

  /** Shows a call that nobody has begun. */
  announce(id: string, name: string, args: string, agentName: string, view: RunView, out: AgUiEvent[]): ShownCall {
    const said = new Said(id, view.owner, agentName)
    said.ended = true
    this.#conversation.add(said)
    const call = this.start(id, name, said, out)
    call.complete(args, out)
    if (!call.held) call.end(out)
    return call
  }

  /** Whether a client knows a call, from this run or from before. */
  isKnown(id: string): boolean {
    return this.#calls.has(id) || this.#conversation.past(id) !== 'unknown'
  }

  /** Contract: a call has one result, and is known before it has it. */
  answer(id: string, messageId: string, event: ToolEnd, view: RunView, out: AgUiEvent[]): void {
    const past = this.#calls.has(id) ? undefined : this.#conversation.past(id)
    if (past === 'answered') return
    if (past === 'open') this.#conversation.answer(id)
    const call =
      this.#calls.get(id) ?? (past === 'unknown' && this.announce(id, event.name, '', event.agentName, view, out))
    if (call) {
      if (call.answered) return
      call.answered = true
      call.end(out)
    }
    const result = { toolCallId: id, role: 'tool', ...resultOf(event, this.#options.showToolErrors ?? false) } as const
    out.push(tagged({ type: EventType.TOOL_CALL_RESULT, messageId, ...result }, view.owner))
    this.#conversation.addResult({
      id: messageId,
      ...result,
      ...(view.owner !== undefined && { subagentRunId: view.owner }),
    })
  }

  /** Takes a call back. Contract: the conversation goes on without it. */
  drop(call: ShownCall, out: AgUiEvent[]): void {
    call.withdraw(out)
    call.said.calls.delete(call.id)
  }

  /** Ends the calls of a run, or of all; those that nobody waits for are withdrawn. */
  settle(isAwaited: (call: ShownCall) => boolean, view: RunView | undefined, out: AgUiEvent[]): void {
    for (const call of this.#calls.values()) {
      if (view && call.said.owner !== view.owner) continue
      if (call.answered || isAwaited(call)) call.end(out)
      else {
        const result = call.withdraw(out)
        if (result) this.#conversation.addResult(result)
      }
    }
  }
}
