import type { AgentEvent, ContextKey, Message } from '@troupe/kernel'
import { messageOf, repairHistory, unanswered } from '@troupe/kernel/history'

/** What agents of one run share: the conversation, what has happened, and values. */
export interface Session {
  /** The history up to now, whoever said it. */
  readonly messages: readonly Message[]
  /** What this run has told so far, without deltas: a message stands whole in its `message-end`. */
  readonly events: readonly AgentEvent[]
  get<T>(key: ContextKey<T>): T | undefined
  /** Contract: seen by every agent of the run from now on; gone with the run. What is to stay belongs into `ctx.state`. */
  set<T>(key: ContextKey<T>, value: NoInfer<T>): void
}

/** A session while it grows. */
export class ThreadLog implements Session {
  readonly events: AgentEvent[]
  #before: readonly Message[]
  readonly #added: Message[] = []
  readonly #values: Map<ContextKey<unknown>, unknown>
  #messages: readonly Message[] | undefined
  #settled = 0

  constructor(before: readonly Message[], shared?: ThreadLog) {
    this.#before = before
    this.events = shared?.events ?? []
    this.#values = shared ? shared.#values : new Map()
  }

  /** Sets the past, where it was not known from the start. */
  begin(before: readonly Message[]): void {
    this.#before = before
  }

  get messages(): readonly Message[] {
    this.#messages ??= this.#view()
    return this.#messages
  }

  /** Whether nothing has happened yet in this run. */
  get fresh(): boolean {
    return this.events.length === 0
  }

  /** What was said since it began. */
  get newMessages(): readonly Message[] {
    return this.#added
  }

  get<T>(key: ContextKey<T>): T | undefined {
    return this.#values.get(key as ContextKey<unknown>) as T | undefined
  }

  set<T>(key: ContextKey<T>, value: NoInfer<T>): void {
    this.#values.set(key as ContextKey<unknown>, value)
  }

  record(event: AgentEvent): void {
    this.events.push(event)
    const message = messageOf(event)
    if (message) this.add(message)
  }

  add(message: Message): void {
    this.#added.push(message)
    this.#messages = undefined
  }

  #view(): readonly Message[] {
    const added = this.#added
    if (added.length === 0) return this.#before
    const all = this.#before.concat(added)
    // What a resumed call gives belongs between the results that its siblings have given before.
    return added[0]?.role === 'tool' ? repairHistory(all, { awaiting: unanswered(all).map(({ id }) => id) }) : all
  }

  /** Puts the results of calls that ran at once into the order in which they were called. */
  settle(): void {
    const added = this.#added
    if (added.length - this.#settled < 2) return
    for (let i = this.#settled; i < added.length; i++) {
      if (added[i]?.role !== 'tool' || added[i + 1]?.role !== 'tool') continue
      let end = i + 2
      while (added[end]?.role === 'tool') end++
      const order = this.#callsBefore(i)
      const rank = (message: Message) => (message.role === 'tool' ? order.indexOf(message.callId) : -1)
      const results = added.slice(i, end).sort((a, b) => rank(a) - rank(b))
      added.splice(i, results.length, ...results)
      i = end - 1
    }
    this.#settled = added.length
    this.#messages = undefined
  }

  #callsBefore(index: number): readonly string[] {
    const last =
      this.#added.slice(0, index).findLast(({ role }) => role === 'assistant') ??
      this.#before.findLast(({ role }) => role === 'assistant')
    return last?.role === 'assistant' ? (last.toolCalls ?? []).map(({ id }) => id) : []
  }

  /** A branch that sees the past it is given and its own words; events and values are shared. */
  fork(past: readonly Message[] = this.messages): ThreadLog {
    return new ThreadLog(past, this)
  }
}
