import type { Message, ToolCall } from '../data/message.ts'

/** How often a history is looked through before an index of it is made. */
const LOOKS = 4

/** The call ids of a thread, as far as a run knows them. */
export class CallIds {
  readonly #history: readonly Message[]
  readonly #made: Set<string> = new Set()
  #past: Set<string> | undefined
  #looks = 0

  constructor(history: readonly Message[]) {
    this.#history = history
  }

  /** Contract: no id at all counts as taken. */
  isTaken(callId: string): boolean {
    return callId === '' || this.#made.has(callId) || this.#isPast(callId)
  }

  take(callId: string): void {
    this.#made.add(callId)
  }

  /** A run with few calls looks through the history for each; one with many makes an index. */
  #isPast(callId: string): boolean {
    if (!this.#past && this.#looks++ < LOOKS) return makesCall(this.#history, callId)
    this.#past ??= new Set(this.#history.flatMap((message) => callsOf(message)?.map(({ id }) => id) ?? []))
    return this.#past.has(callId)
  }
}

function makesCall(messages: readonly Message[], callId: string): boolean {
  for (const message of messages) {
    const calls = callsOf(message)
    if (calls) for (const { id } of calls) if (id === callId) return true
  }
  return false
}

function callsOf(message: Message): readonly ToolCall[] | undefined {
  return message.role === 'assistant' ? message.toolCalls : undefined
}
