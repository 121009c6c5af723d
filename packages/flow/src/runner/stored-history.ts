import type { Message } from '@troupe/kernel'
import { repairHistory, unanswered } from '@troupe/kernel/history'
import { jsonLength } from '@troupe/kernel/kit'

/** What a message costs beside its texts. */
const MESSAGE = 200

const NONE: ReadonlySet<string> = new Set()

/** The stored messages of a thread, in order, or the newest of them. Contract: never changes; a later history shares its messages. */
export class StoredHistory {
  readonly messages: readonly Message[]
  /** The runs that they belong to, as far as it is known. */
  readonly runs: ReadonlySet<string>
  /** Whether these are all messages of the thread. */
  readonly whole: boolean
  #ids: Set<string> | undefined
  /** The runs, if no other history has them. */
  #ownRuns: Set<string> | undefined
  #chars: number | undefined
  /** Whether each call has its result. */
  #sound: boolean | undefined

  constructor(messages: readonly Message[], runs: ReadonlySet<string>, whole: boolean = true) {
    this.messages = messages
    this.runs = runs
    this.whole = whole
  }

  /** About how many characters it takes. */
  get chars(): number {
    this.#chars ??= charsOf(this.messages)
    return this.#chars
  }

  /** The messages with one result for each call: a stored history is complete, except for calls that wait and results that came in a later run. */
  get repaired(): readonly Message[] {
    const { messages } = this
    this.#sound ??= isSound(messages)
    return this.#sound ? messages : repairHistory(messages, { awaiting: unanswered(messages).map(({ id }) => id) })
  }

  /** Prepares it for many look-ups; for the turn that has loaded it, that would take longer than to search. */
  index(): void {
    this.#ids ??= new Set(this.messages.map(({ id }) => id))
  }

  /** The first of some messages that it has already. */
  known(given: readonly Message[]): Message | undefined {
    if (given.length === 0) return undefined
    const ids = this.#ids
    if (ids) return given.find(({ id }) => ids.has(id))
    const wanted = new Set(given.map(({ id }) => id))
    return this.messages.find(({ id }) => wanted.has(id))
  }

  /** The history from one of its messages on. Contract: does not know whose runs the messages are, so that what it keeps does not grow. */
  from(index: number): StoredHistory {
    return index === 0 ? this : new StoredHistory(this.messages.slice(index), NONE, false)
  }

  /** The history after a run has added messages. Contract: this one loses its index to it, and shares the runs with it. */
  with(added: readonly Message[], runId: string): StoredHistory {
    const runs = (this.#ownRuns ?? new Set(this.runs)).add(runId)
    const next = new StoredHistory(this.messages.concat(added), runs, this.whole)
    next.#ownRuns = runs
    next.#chars = this.chars + charsOf(added)
    next.#ids = this.#ids
    this.#ids = undefined
    if (next.#ids) for (const { id } of added) next.#ids.add(id)
    if (this.#sound && isSound(added)) next.#sound = true
    return next
  }
}

function isSound(messages: readonly Message[]): boolean {
  return repairHistory(messages) === messages
}

function charsOf(messages: readonly Message[]): number {
  let chars = 0
  for (const message of messages) {
    chars += MESSAGE + lengthOf(message.content)
    if (message.role === 'assistant') for (const call of message.toolCalls ?? []) chars += call.arguments.length
    if (message.role === 'tool') chars += lengthOf(message.data) + lengthOf(message.display)
  }
  return chars
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return value === undefined ? 0 : jsonLength(value, Number.POSITIVE_INFINITY)
}
