import type { Message, ToolCall } from '../data/message.ts'

/** How many times the history is searched before an index of it is built. */
const LOOKS = 4

/** The call ids of a thread that a run knows of. */
export class CallIds {
  readonly #history: readonly Message[]
  readonly #whole: boolean
  readonly #made: Set<string> = new Set()
  #past: Set<string> | undefined
  #looks = 0

  /** `whole` says whether the history begins where the thread does. */
  constructor(history: readonly Message[], whole: boolean) {
    this.#history = history
    this.#whole = whole
  }

  /** Contract: an empty id counts as taken; so does one that calls before a history that is not whole may have. */
  isTaken(callId: string): boolean {
    return callId === '' || (!this.#whole && mayRepeat(callId)) || this.#made.has(callId) || this.#isPast(callId)
  }

  take(callId: string): void {
    this.#made.add(callId)
  }

  /** A run with few calls searches the history for each; a run with many builds an index. */
  #isPast(callId: string): boolean {
    if (!this.#past && this.#looks++ < LOOKS) return makesCall(this.#history, callId)
    this.#past ??= new Set(this.#history.flatMap((message) => callsOf(message)?.map(({ id }) => id) ?? []))
    return this.#past.has(callId)
  }
}

/** Whether a model may give an id again in a later turn, because it counts its calls: `call_0`, `functions.search:3`. */
function mayRepeat(callId: string): boolean {
  return callId.length < 8 || /[^A-Za-z0-9][0-9]{1,6}$/.test(callId)
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
