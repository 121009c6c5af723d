import {
  type AgentEvent,
  type AgentInput,
  type Answers,
  type CancelMode,
  type JsonObject,
  type Message,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunHost,
  type RunInput,
  type RunRequest,
  type RunSettings,
  type Sink,
  type State,
  stream,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { SCENE, type Scene, SessionLog } from '../session.ts'
import type { Suspended } from '../tree/ending.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { type Opening, openWithAnswers, openWithInput } from './opening.ts'
import type { RunnerParts } from './runner.ts'
import { ThreadLease } from './thread-lease.ts'
import { loadMessages, OpenCalls } from './thread-messages.ts'
import { Watch } from './watch.ts'

/** What a run was asked for. */
export type Wish =
  | { readonly input: RunInput; readonly answers?: undefined }
  | { readonly answers: Answers; readonly input: Pick<AgentInput, 'additions' | 'options'> }

/** One run on one thread, from its lease to its commit; without a thread, under the same limits. */
export class ThreadRun {
  readonly #parts: RunnerParts
  readonly #wish: Wish
  readonly #runId: string
  readonly #request: RunRequest
  readonly #controller: AbortController = new AbortController()
  readonly #watch: Watch
  #session: SessionLog = new SessionLog([])
  #lease: ThreadLease | undefined
  #thread: Thread | undefined
  #opening: Opening | undefined
  #history: readonly Message[] = []
  #committed = 0
  #leave: (() => void) | undefined
  #suspended: Suspended | undefined

  constructor(parts: RunnerParts, wish: Wish, runId: string, request: RunRequest) {
    this.#parts = parts
    this.#wish = wish
    this.#runId = runId
    this.#request = request
    this.#watch = new Watch(parts.clock, parts.limits, this.#controller, () => this.#lease?.renew())
  }

  settings(): RunSettings & RunHost {
    const { session } = this.#request
    const { callbacks, clock, report } = this.#parts
    return {
      runId: this.#runId,
      signal: this.#controller.signal,
      callbacks,
      clock,
      canInterrupt: session !== undefined,
      ...(session && { session }),
      ...(report && { report }),
      prepare: (ctx) => this.#prepare(ctx),
      open: (signal) => this.#open(signal),
      around: (ctx, next) => this.#around(ctx, next),
      cancelling: () => this.#watch.cancelling,
    }
  }

  /** Contract: false if another run is meant. */
  cancel(mode: CancelMode, runId: string | undefined): boolean {
    if (runId !== undefined && runId !== this.#runId) return false
    this.#watch.cancel(mode)
    return true
  }

  #prepare(ctx: RunContext): RunContext {
    const { flow, limits } = this.#parts
    const run = this
    const scene: Scene = {
      runId: this.#runId,
      player: flow,
      budget: { left: limits.transfers },
      get session() {
        return run.#session
      },
    }
    const ready = ctx.with(SCENE, scene)
    return this.#request.prepare ? this.#request.prepare(ready) : ready
  }

  async #open(signal: AbortSignal): Promise<{ readonly state?: JsonObject; close(): Promise<void> }> {
    const { session } = this.#request
    this.#watch.follow(this.#request.signal)
    try {
      return session
        ? await this.#openThread(session, signal)
        : { state: this.#stateFrom({}), close: () => this.#close() }
    } catch (error) {
      await this.#close()
      throw error
    } finally {
      this.#watch.begin()
    }
  }

  async #openThread(
    ref: ThreadRef,
    signal: AbortSignal,
  ): Promise<{ readonly state: JsonObject; close(): Promise<void> }> {
    const { store, flow, clock, pending } = this.#parts
    this.#lease = await ThreadLease.acquire(ref, this.#runId, this.#parts.lease, signal)
    this.#leave = this.#parts.lease.local.enter(ref, this)
    const thread = await store.threads.open(ref)
    const wish = this.#wish
    this.#opening = wish.answers
      ? await openWithAnswers(flow, thread, wish.answers, clock)
      : openWithInput(flow, thread, wish.input, pending)
    this.#thread = thread
    return { state: this.#stateFrom(thread.state), close: () => this.#close() }
  }

  async #close(): Promise<void> {
    this.#watch.end()
    try {
      await this.#lease?.release()
    } finally {
      this.#leave?.()
    }
  }

  #stateFrom(stored: JsonObject): JsonObject {
    const { set, removed = [] } = (this.#wish.answers ? undefined : this.#wish.input.state) ?? {}
    const state = { ...stored, ...set }
    for (const key of removed) delete state[key]
    return state
  }

  #around(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent> {
    return stream(async (sink) => {
      const start = await this.#start()
      const sound = this.#thread ? this.#committing(ctx, sink) : this.#watch.watching(sink)
      try {
        await pipe(next(start), sound)
      } finally {
        if (this.#thread) await this.#commit(ctx.state)
      }
    })
  }

  async #start(): Promise<AgentInput | ResumeInfo> {
    const { input } = this.#wish
    const { session } = this.#request
    const given = this.#opening?.messages ?? ('messages' in input ? input.messages : [])
    if (session) this.#history = await loadMessages(this.#parts.store.threads, session)
    const messages = this.#history.length === 0 ? given : this.#history.concat(given)
    this.#session = new SessionLog(messages)
    const { additions, options } = input
    return {
      messages,
      ...(additions && { additions }),
      ...(options && { options }),
      ...this.#opening?.resumption,
    }
  }

  /** Contract: a question is shown when it can be answered, so its checkpoint is stored first; where it goes on is nobody's business. */
  #committing(ctx: RunContext, sink: Sink<AgentEvent>): Sink<AgentEvent> {
    const watched = this.#watch.watching(sink)
    const ask = async (event: AgentEvent & { type: 'action' }) => {
      if (event.action.type !== 'interrupt') return
      const { state = null, ...action } = event.action
      this.#suspended = { interrupts: action.interrupts, state }
      if (action.interrupts.length === 0) return
      await this.#commit(ctx.state)
      await watched.write({ ...event, action })
    }
    return {
      get closed() {
        return sink.closed ?? false
      },
      write(event) {
        const asks = event.type === 'action' && event.action.type === 'interrupt' && event.runId === ctx.runId
        return asks ? ask(event) : watched.write(event)
      },
    }
  }

  /** Stores what is new. Contract: one commit for a turn, and before it a first one if the run ends with a question. */
  async #commit(state: State): Promise<void> {
    const { store, flow } = this.#parts
    const { session } = this.#request
    const [thread, lease, opening] = [this.#thread, this.#lease, this.#opening]
    if (!session || !thread || !lease || !opening) return
    this.#session.settle()
    const said = [...opening.messages, ...this.#session.said]
    const calls = new OpenCalls(thread, this.#history, said)
    const suspended = this.#suspended
    const all = suspended ? said : [...said, ...calls.neutralResults()]
    const processed = this.#wish.answers ? undefined : this.#wish.input.processed
    await store.threads.commit(
      session,
      {
        ...changes(thread.state, state),
        messages: all.slice(this.#committed).map((message) => ({ runId: this.#runId, message })),
        openCalls: suspended ? calls.besides(suspended.interrupts) : [],
        checkpoint: suspended ? makeCheckpoint(flow.name, this.#runId, suspended) : null,
        ...(processed && { processed }),
      },
      lease.token,
    )
    this.#committed = all.length
  }
}

/** What differs from what is stored; `temp:` keys live for one run. */
function changes(stored: JsonObject, state: State): { set: JsonObject; removed: readonly string[] } {
  const set: Record<string, JsonObject[string]> = {}
  const kept = new Set<string>()
  for (const key of state.keys()) {
    if (key.startsWith('temp:')) continue
    kept.add(key)
    const value = state.get(key)
    if (value !== undefined && value !== stored[key]) set[key] = value
  }
  return { set, removed: Object.keys(stored).filter((key) => !kept.has(key)) }
}
