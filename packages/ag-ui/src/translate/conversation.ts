import { EventType, type ToolMessage } from '@ag-ui/core'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { type Omissible, withoutOmitted } from './left-out.ts'
import type { ShownMessage } from './shown-message.ts'

/** Completes a snapshot with the messages from before the run. */
export type CompleteSnapshot = (past: readonly AgUiMessage[]) => void

/** The messages as the client has them: those from before the run and those that the run added. */
export class Conversation {
  /** Undefined if the history is unknown: then a snapshot would remove messages, so none is made. */
  readonly #past: readonly AgUiMessage[] | undefined
  readonly #shown: Set<ShownMessage> = new Set()
  readonly #results: ToolMessage[] = []
  /** Message ids that the client has from this run. */
  readonly #ids: Set<string> = new Set()
  /** Calls from before the run, and whether they are answered. */
  #calls: Map<string, boolean> | undefined

  readonly #later: ((complete: CompleteSnapshot) => void) | undefined
  readonly #omit: readonly Omissible[]

  /** Contract: `later` completes a snapshot before it is sent, with what the thread has; then `past` only says which calls the client knows. */
  constructor(
    past: readonly AgUiMessage[] | undefined,
    omit: readonly Omissible[] = [],
    later?: (complete: CompleteSnapshot) => void,
  ) {
    this.#past = past
    this.#omit = omit
    this.#later = later
  }

  /** An id for a message that the client does not have yet: the given one, unless an agent of another run uses it too. */
  claim(messageId: string, runId: string): string {
    let id = String(messageId)
    for (let n = 1; this.#ids.has(id); n++) id = `${runId}/${messageId}@${n}`
    this.#ids.add(id)
    return id
  }

  add(message: ShownMessage): void {
    this.#shown.add(message)
  }

  drop(message: ShownMessage): void {
    this.#shown.delete(message)
  }

  addResult(result: ToolMessage): void {
    this.#results.push(result)
  }

  /** The state of a call from before the run. */
  past(callId: string): 'unknown' | 'open' | 'answered' {
    this.#calls ??= callsOf(this.#past ?? [])
    const answered = this.#calls.get(callId)
    return answered === undefined ? 'unknown' : answered ? 'answered' : 'open'
  }

  /** Marks a call from before the run as answered. */
  answer(callId: string): void {
    this.#calls?.set(callId, true)
  }

  /** Shows the whole conversation, if it is known. Contract: leaves out activities, because clients keep those, and what clients are not to see. */
  show(out: AgUiEvent[]): void {
    if (!this.#past) return
    const messages: AgUiMessage[] = []
    const own = withoutOmitted(
      [...this.#shown].flatMap((shown) => shown.messages()),
      this.#omit,
    )
    const results = [...this.#results]
    const complete: CompleteSnapshot = (past) => {
      for (const message of withoutOmitted(past, this.#omit)) if (message.role !== 'activity') messages.push(message)
      messages.push(...own)
      for (const result of results) insert(messages, result)
    }
    if (this.#later) this.#later(complete)
    else complete(this.#past)
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

/** Inserts a result where clients keep it: behind the message with its call, after the results that are there. */
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
