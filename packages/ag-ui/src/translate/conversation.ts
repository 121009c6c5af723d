import { EventType, type ToolMessage } from '@ag-ui/core'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import type { Said } from './said.ts'

/** The messages as the client has them: those of before the run and what the run has added. */
export class Conversation {
  /** Unknown where nobody told: then no snapshot can be made that would not take messages away. */
  readonly #past: readonly AgUiMessage[] | undefined
  readonly #said: Set<Said> = new Set()
  readonly #results: ToolMessage[] = []
  /** Calls of before the run, and whether they are answered. */
  #calls: Map<string, boolean> | undefined

  constructor(past: readonly AgUiMessage[] | undefined) {
    this.#past = past
  }

  add(said: Said): void {
    this.#said.add(said)
  }

  drop(said: Said): void {
    this.#said.delete(said)
  }

  addResult(result: ToolMessage): void {
    this.#results.push(result)
  }

  /** What the client knows of a call of before the run. */
  past(callId: string): 'unknown' | 'open' | 'answered' {
    this.#calls ??= callsOf(this.#past ?? [])
    const answered = this.#calls.get(callId)
    return answered === undefined ? 'unknown' : answered ? 'answered' : 'open'
  }

  /** A call of before the run has its result now. */
  answer(callId: string): void {
    this.#calls?.set(callId, true)
  }

  /** Shows the whole conversation, if it is known. Contract: activities are left out, which clients then keep. */
  show(out: AgUiEvent[]): void {
    if (!this.#past) return
    const messages = this.#past.filter(({ role }) => role !== 'activity')
    for (const said of this.#said) messages.push(...said.messages())
    for (const result of this.#results) insert(messages, result)
    out.push({ type: EventType.MESSAGES_SNAPSHOT, messages })
  }
}

function callsOf(messages: readonly AgUiMessage[]): Map<string, boolean> {
  const calls = new Map<string, boolean>()
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) calls.set(id, false)
    if (message.role === 'tool') calls.set(message.toolCallId, true)
  }
  return calls
}

/** Clients keep a result behind the message that asked for it, after the results that are there. */
function insert(messages: AgUiMessage[], result: ToolMessage): void {
  const { toolCallId } = result
  const asked = messages.findIndex(
    (message) => message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === toolCallId),
  )
  if (asked < 0) return void messages.push(result)
  let at = asked + 1
  while (messages[at]?.role === 'tool') at++
  messages.splice(at, 0, result)
}
