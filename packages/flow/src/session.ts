import type { AgentEvent, ContextKey, Message, RunContext } from '@troupe/kernel'
import { contextKey } from '@troupe/kernel'
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

/** What the layers of flow hand down to each other in one run. */
export interface Scene {
  readonly runId: string
  readonly session: SessionLog
  /** How many transfers a run may make, and how many are left. */
  readonly limit: number
  readonly budget: { left: number }
  /** Whom it is meant for; anybody else begins a scene of their own. */
  readonly player?: object
  /** Nobody keeps where it stops, so nobody is told. */
  readonly ephemeral?: true
}

export const SCENE: ContextKey<Scene> = contextKey<Scene>('troupe.flow.scene')

/** How many transfers a run may make. */
export const TRANSFERS = 25

/**
 * The session that this context stands in; nothing where no flow is around.
 * @example const asked = sessionOf(ctx)?.messages.filter(({ role }) => role === 'user')
 */
export function sessionOf(ctx: RunContext): Session | undefined {
  const scene = ctx.get(SCENE)
  return scene?.runId === ctx.runId ? scene.session : undefined
}

/** The scene that was set for this player in this run, or a new one. */
export function sceneFor(player: object, messages: readonly Message[], ctx: RunContext): Scene {
  const scene = ctx.get(SCENE)
  if (scene?.player === player && scene.runId === ctx.runId) return scene
  const { limit = TRANSFERS } = scene ?? {}
  return { runId: ctx.runId, session: new SessionLog(messages), limit, budget: { left: limit } }
}

/** A session while it grows. */
export class SessionLog implements Session {
  readonly events: AgentEvent[]
  #before: readonly Message[]
  readonly #said: Message[] = []
  readonly #values: Map<ContextKey<unknown>, unknown>
  #messages: readonly Message[] | undefined
  #settled = 0

  constructor(before: readonly Message[], shared?: SessionLog) {
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
  get said(): readonly Message[] {
    return this.#said
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
    this.#said.push(message)
    this.#messages = undefined
  }

  #view(): readonly Message[] {
    const said = this.#said
    if (said.length === 0) return this.#before
    const all = this.#before.concat(said)
    // What a resumed call gives belongs between the results that its siblings have given before.
    return said[0]?.role === 'tool' ? repairHistory(all, { awaiting: unanswered(all).map(({ id }) => id) }) : all
  }

  /** Puts the results of calls that ran at once into the order in which they were called. */
  settle(): void {
    const said = this.#said
    if (said.length - this.#settled < 2) return
    for (let i = this.#settled; i < said.length; i++) {
      if (said[i]?.role !== 'tool' || said[i + 1]?.role !== 'tool') continue
      let end = i + 2
      while (said[end]?.role === 'tool') end++
      const order = this.#callsBefore(i)
      const rank = (message: Message) => (message.role === 'tool' ? order.indexOf(message.callId) : -1)
      const results = said.slice(i, end).sort((a, b) => rank(a) - rank(b))
      said.splice(i, results.length, ...results)
      i = end - 1
    }
    this.#settled = said.length
    this.#messages = undefined
  }

  #callsBefore(index: number): readonly string[] {
    const last =
      this.#said.slice(0, index).findLast(({ role }) => role === 'assistant') ??
      this.#before.findLast(({ role }) => role === 'assistant')
    return last?.role === 'assistant' ? (last.toolCalls ?? []).map(({ id }) => id) : []
  }

  /** A branch that sees the past it is given and its own words; events and values are shared. */
  fork(past: readonly Message[] = this.messages): SessionLog {
    return new SessionLog(past, this)
  }
}
