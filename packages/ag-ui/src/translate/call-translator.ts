import { EventType } from '@ag-ui/core'
import type { EventOf } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { resultOf } from './content.ts'
import type { Conversation } from './conversation.ts'
import { ownName } from './own-name.ts'
import type { RunView } from './run-view.ts'
import { PredictedState, type ShowOptions } from './show-options.ts'
import { ShownCall } from './shown-call.ts'
import { ShownMessage } from './shown-message.ts'
import { tagged } from './tagged.ts'

/** How calls are shown. */
interface CallOptions {
  readonly clientTools?: ReadonlySet<string>
  readonly clientToolPrefix?: string
  readonly showToolErrors?: boolean
  readonly show?: ShowOptions
}

/** Translates tool calls and their results. */
export class CallTranslator {
  readonly #conversation: Conversation
  readonly #options: CallOptions
  /** By the id that clients know. */
  readonly #calls: Map<string, ShownCall> = new Map()
  readonly #predicted: PredictedState | undefined

  constructor(conversation: Conversation, options: CallOptions) {
    this.#conversation = conversation
    this.#options = options
    const { predictState = [] } = options.show ?? {}
    this.#predicted = predictState.length > 0 ? new PredictedState(predictState) : undefined
  }

  get(id: string): ShownCall | undefined {
    return this.#calls.get(id)
  }

  start(id: string, name: string, shown: ShownMessage, out: AgUiEvent[]): ShownCall {
    const { clientTools, clientToolPrefix } = this.#options
    const own = ownName(String(name), clientToolPrefix)
    // A tool of the server under the name of a client's is held back too, or the client would run its own.
    const call = new ShownCall(id, own, shown, clientTools?.has(own) ?? false)
    this.#calls.set(id, call)
    this.#predicted?.announce(own, out)
    call.start(out)
    return call
  }

  /** Shows a call that had no start event. */
  announce(id: string, name: string, args: string, agentName: string, view: RunView, out: AgUiEvent[]): ShownCall {
    const shown = new ShownMessage(this.#conversation.claim(id, view.runId), view.owner, agentName)
    shown.ended = true
    this.#conversation.add(shown)
    const call = this.start(id, name, shown, out)
    call.complete(args, out)
    if (!call.held) call.end(out)
    return call
  }

  /** Whether a client knows a call, from this run or from before. */
  isKnown(id: string): boolean {
    return this.#calls.has(id) || this.#conversation.past(id) !== 'unknown'
  }

  /** Shows the result of a call. Contract: one result per call, and the client knows the call before its result. */
  answer(id: string, event: EventOf<'tool-end'>, view: RunView, out: AgUiEvent[]): void {
    const past = this.#calls.has(id) ? undefined : this.#conversation.past(id)
    if (past === 'answered') return
    const result = { toolCallId: id, role: 'tool', ...resultOf(event, this.#options.showToolErrors ?? false) } as const
    if (past === 'open') this.#conversation.answer(id)
    const call =
      this.#calls.get(id) ?? (past === 'unknown' && this.announce(id, event.name, '', event.agentName, view, out))
    if (call) {
      if (call.answered) return
      call.answered = true
      call.end(out)
    }
    const messageId = this.#conversation.claim(event.messageId, view.runId)
    out.push(tagged({ type: EventType.TOOL_CALL_RESULT, messageId, ...result }, view.owner))
    this.#conversation.addResult({
      id: messageId,
      ...result,
      ...(view.owner !== undefined && { subagentRunId: view.owner }),
    })
  }

  /** Withdraws a call and removes it from the conversation. */
  drop(id: string, out: AgUiEvent[]): void {
    const call = this.#calls.get(id)
    call?.withdraw(out)
    call?.message.calls.delete(id)
  }

  /** Ends the calls of one run, or of all runs; calls that are not awaited are withdrawn. */
  settle(isAwaited: (call: ShownCall) => boolean, view: RunView | undefined, out: AgUiEvent[]): void {
    for (const call of this.#calls.values()) {
      if (view && call.message.owner !== view.owner) continue
      if (call.answered || isAwaited(call)) call.end(out)
      else {
        const result = call.withdraw(out)
        if (result) this.#conversation.addResult(result)
      }
    }
  }
}
