import type { AgentEvent, ContextKey, JsonObject, Message } from '@troupe/kernel'
import { messageOf, repairHistory, unanswered } from '@troupe/kernel/history'
import { reorder, TextAndOutput } from '@troupe/kernel/run'
import { type KeyChanges, mergeChanges, noteChanges } from './key-changes.ts'

/** Everything the agents of one run share: the conversation, the events so far, and values. */
export interface Session {
  /** The history so far, from all agents and the user. */
  readonly messages: readonly Message[]
  /** The events of this run so far, without deltas; `message-end` holds the whole message. */
  readonly events: readonly AgentEvent[]
  get<T>(key: ContextKey<T>): T | undefined
  /** Contract: every agent of the run sees the value from now on, and it is gone when the run ends. Use `ctx.state` for values that have to stay. */
  set<T>(key: ContextKey<T>, value: NoInfer<T>): void
}

/** Collects the messages and events of a run as they happen. */
export class ThreadLog implements Session {
  readonly events: AgentEvent[]
  /** Of a branch: its text and output so far. */
  readonly textAndOutput: TextAndOutput | undefined
  #before: readonly Message[]
  readonly #added: Message[] = []
  readonly #values: Map<ContextKey<unknown>, unknown>
  /** How the state has changed up to a message, since the one before. */
  readonly #changes: Map<Message, KeyChanges> = new Map()
  /** How it has changed since the last message. */
  #unplaced: KeyChanges | undefined
  #messages: readonly Message[] | undefined
  #settled = 0

  constructor(before: readonly Message[], shared?: ThreadLog) {
    this.#before = before
    this.events = shared?.events ?? []
    this.#values = shared ? shared.#values : new Map()
    this.textAndOutput = shared && new TextAndOutput()
  }

  /** Sets the earlier history, if it was not known when the log was made. */
  begin(before: readonly Message[]): void {
    this.#before = before
  }

  get messages(): readonly Message[] {
    this.#messages ??= this.#view()
    return this.#messages
  }

  /** Whether this run has no events yet. */
  get fresh(): boolean {
    return this.events.length === 0
  }

  /** The messages of this run, without the earlier history. */
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
    this.textAndOutput?.update(event)
    if (event.type === 'state-delta') this.changed(event)
    const message = messageOf(event)
    if (message) this.add(message)
  }

  /** Notes a change of the state, which belongs to the next message. */
  changed({ set, removed }: { readonly set: JsonObject; readonly removed: readonly string[] }): void {
    this.#unplaced = noteChanges(this.#unplaced, set, removed)
  }

  add(message: Message): void {
    this.#added.push(message)
    this.#messages = undefined
    if (this.#unplaced) this.#changes.set(message, this.#unplaced)
    this.#unplaced = undefined
  }

  /** How the state has changed up to a message of this run, since the message before. */
  changesAt(message: Message): KeyChanges | undefined {
    return this.#changes.get(message)
  }

  /** Adds the messages of a branch, with the changes of the state that belong to them. */
  join(branch: ThreadLog): void {
    for (const message of branch.#added) {
      this.#unplaced = mergeChanges(this.#unplaced, branch.#changes.get(message))
      this.add(message)
    }
    this.#unplaced = mergeChanges(this.#unplaced, branch.#unplaced)
  }

  #view(): readonly Message[] {
    const added = this.#added
    if (added.length === 0) return this.#before
    const all = this.#before.concat(added)
    // The result of a resumed call belongs between the results of the calls beside it, which were stored earlier.
    return added[0]?.role === 'tool' ? repairHistory(all, { awaiting: unanswered(all).map(({ id }) => id) }) : all
  }

  /** Puts the results of parallel calls into the order in which the calls were made. */
  settle(): void {
    const added = this.#added
    if (added.length - this.#settled < 2) return
    for (let i = this.#settled; i < added.length; i++) {
      if (added[i]?.role !== 'tool' || added[i + 1]?.role !== 'tool') continue
      let end = i + 2
      while (added[end]?.role === 'tool') end++
      const order = this.#callsBefore(i)
      const rank = (message: Message) => (message.role === 'tool' ? order.indexOf(message.callId) : -1)
      const came = added.slice(i, end)
      const results = came.toSorted((a, b) => rank(a) - rank(b))
      added.splice(i, results.length, ...results)
      this.#keepState(came, results)
      i = end - 1
    }
    this.#settled = added.length
    this.#messages = undefined
  }

  /** Puts messages of this run into another order. */
  order(ids: readonly string[]): void {
    const before = [...this.#added]
    reorder(this.#added, ids)
    this.#keepState(before, this.#added)
    this.#messages = undefined
  }

  /** Contract: the state after messages that were put into another order is that after the one that came last. */
  #keepState(before: readonly Message[], after: readonly Message[]): void {
    const first = before.findIndex((message, i) => message !== after[i])
    const end = before.findLastIndex((message, i) => message !== after[i])
    const last = after[end]
    if (!last) return
    let changes = this.#changes.get(last)
    for (const message of before.slice(first, end + 1)) changes = mergeChanges(changes, this.#changes.get(message))
    if (changes) this.#changes.set(last, changes)
  }

  #callsBefore(index: number): readonly string[] {
    const last =
      this.#added.slice(0, index).findLast(({ role }) => role === 'assistant') ??
      this.#before.findLast(({ role }) => role === 'assistant')
    return last?.role === 'assistant' ? (last.toolCalls ?? []).map(({ id }) => id) : []
  }

  /** Makes the log of a branch, which sees the given history and its own messages; events and values are shared. */
  fork(past: readonly Message[] = this.messages): ThreadLog {
    return new ThreadLog(past, this)
  }
}
