import {
  type AgentEvent,
  type AgentInput,
  type Answers,
  type Callback,
  type CancelMode,
  type Checkpoint,
  type Clock,
  type JsonObject,
  KernelError,
  type Message,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunControl,
  type RunHost,
  type RunInput,
  type RunSettings,
  type Sink,
  type State,
  sinkTo,
  stream,
  type Thread,
  type ThreadRef,
} from '@troupe/kernel'
import { repairHistory, unanswered } from '@troupe/kernel/history'
import { SCENE, SessionLog } from '../session.ts'
import { checkInput } from './check-input.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { type Opening, openWithAnswers, openWithInput, type PendingPolicy } from './opening.ts'
import type { FlowRequest, RunnerParts } from './runner.ts'
import { type LeaseOptions, ThreadLease } from './thread-lease.ts'
import { loadMessages, OpenCalls } from './thread-messages.ts'
import { Watch } from './watch.ts'

/** What a run was asked for. */
export type Wish =
  | { readonly input: RunInput; readonly answers?: undefined }
  | { readonly answers: Answers; readonly input: Pick<AgentInput, 'additions' | 'options'> }

type Opened = { readonly state: JsonObject; close(): Promise<void> }

/** One run on one thread, from its lease to its commit. */
export class ThreadRun implements RunSettings, RunHost {
  readonly runId: string
  readonly callbacks: readonly Callback[]
  readonly clock: Clock
  readonly canInterrupt = true
  readonly session: ThreadRef
  readonly signal?: AbortSignal
  readonly report?: (error: KernelError) => void
  readonly #parts: RunnerParts
  readonly #wish: Wish
  readonly #prepare: FlowRequest['prepare']
  readonly #pending: PendingPolicy | undefined
  readonly #lending: LeaseOptions
  readonly #watch: Watch
  #log: SessionLog = new SessionLog([])
  #lease: ThreadLease | undefined
  #leave: (() => void) | undefined
  #thread: Thread | undefined
  #opening: Opening | undefined
  #history: readonly Message[] = []
  /** What came into the history before the agents spoke. */
  #given: readonly Message[] = []
  #suspended: Checkpoint | undefined
  /** The agents have ended; what is left is to store it. */
  #done = false
  /** The suspension that is stored, and the messages. */
  #stored: { readonly suspended: Checkpoint | undefined; readonly ids: ReadonlySet<string> } | undefined

  constructor(
    parts: RunnerParts,
    wish: Wish,
    runId: string,
    { signal, prepare, pending, busy }: FlowRequest,
    session: ThreadRef,
  ) {
    this.runId = runId
    this.callbacks = parts.callbacks
    this.clock = parts.clock
    this.session = session
    if (signal) this.signal = signal
    if (parts.report) this.report = parts.report
    this.#parts = parts
    this.#wish = wish
    this.#prepare = prepare
    this.#pending = pending
    this.#lending = busy ? { ...parts.lease, busy } : parts.lease
    this.#watch = new Watch(parts.clock, parts.limits)
  }

  /** Contract: false if another run is meant. */
  cancel(mode: CancelMode, runId: string | undefined): boolean {
    if (this.#done || this.#watch.lost || (runId !== undefined && runId !== this.runId)) return false
    this.#watch.cancel(mode)
    return true
  }

  cancelling(): CancelMode | undefined {
    return this.#watch.cancelling
  }

  prepare(ctx: RunContext): RunContext {
    const { flow, limits } = this.#parts
    const ready = ctx.with(SCENE, {
      runId: this.runId,
      player: flow,
      limit: limits.transfers,
      budget: { left: limits.transfers },
      session: this.#log,
    })
    return this.#prepare ? this.#prepare(ready) : ready
  }

  async open(run: RunControl): Promise<Opened> {
    const { runMs, queueMs } = this.#parts.limits
    try {
      this.#watch.begin(run, this.#lending.busy === 'reject' ? runMs : runMs + queueMs)
      return await this.#openThread(this.session, run)
    } catch (error) {
      // What refused the run counts, not that its thread could not be released.
      await this.#close().catch(() => undefined)
      throw error
    }
  }

  async #openThread(ref: ThreadRef, run: RunControl): Promise<Opened> {
    const { store, flow, clock, pending } = this.#parts
    this.#lease = await ThreadLease.acquire(ref, this.runId, this.#lending, run)
    this.#watch.lease = this.#lease
    this.#leave = this.#lending.local.enter(ref, this)
    this.#watch.begin(run, this.#parts.limits.runMs)
    const { answers, input } = this.#wish
    if (!answers) checkInput(input)
    const found = await store.threads.get(ref)
    this.#opening = answers
      ? await openWithAnswers(flow, found, answers, clock)
      : openWithInput(flow, found ?? { openCalls: [] }, input, this.#pending ?? pending)
    this.#thread = found ?? (await store.threads.open(ref))
    this.#watch.begun = true
    return { state: this.#stateFrom(this.#thread.state), close: () => this.#close() }
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
    const wished = this.#wish.answers ? undefined : this.#wish.input.state
    if (!wished) return stored
    const { set, removed = [] } = wished
    const state = { ...stored, ...set }
    for (const key of removed) delete state[key]
    return state
  }

  around(
    ctx: RunContext,
    next: (start: AgentInput | ResumeInfo) => AsyncIterable<AgentEvent>,
  ): AsyncIterable<AgentEvent> {
    return stream(async (sink) => {
      this.#history = await this.#load(this.session)
      const start = this.#start()
      const out = sinkTo(sink, (event: AgentEvent) => this.#pass(event, ctx, sink))
      if (this.#wish.answers) await this.#take()
      try {
        await pipe(next(start), out)
      } finally {
        this.#done = true
        await this.#commit(ctx.state)
      }
    })
  }

  #start(): AgentInput | ResumeInfo {
    const { input } = this.#wish
    this.#given = this.#opening?.messages ?? ('messages' in input ? input.messages : [])
    if (this.#opening?.drops) this.#given = this.#openCalls(this.#given).answered(this.#given)
    const messages = this.#history.length === 0 ? this.#given : this.#history.concat(this.#given)
    this.#log.begin(messages)
    return { ...input, messages, ...this.#opening?.resumption }
  }

  /** Contract: answers are taken once; if this run breaks off, what it did with them is not known and not done again. */
  async #take(): Promise<void> {
    const { checkpoint } = this.#opening ?? {}
    if (!checkpoint || !this.#lease) return
    const taken = { ...checkpoint, resumedBy: this.runId }
    await this.#parts.store.threads.commit(this.session, { checkpoint: taken }, this.#lease.token)
  }

  async #load(ref: ThreadRef): Promise<readonly Message[]> {
    const { messages: given = [] } = this.#opening ?? {}
    const messages = await loadMessages(this.#parts.store.threads, ref, this.runId, given)
    // What is stored is sound, but for calls that wait and results that came in a later run.
    return repairHistory(messages, { awaiting: unanswered(messages).map(({ id }) => id) })
  }

  #pass(event: AgentEvent, ctx: RunContext, sink: Sink<AgentEvent>): void | Promise<void> {
    const asks = event.type === 'action' && event.action.type === 'interrupt' && event.runId === this.runId
    if (asks) return this.#ask(event, ctx, sink)
    const wait = sink.write(event)
    if (wait) this.#watch.park(wait, event.type)
    return wait
  }

  /** Contract: a question is shown when it can be answered, so its checkpoint is stored first; where the run goes on is nobody's business. */
  async #ask(event: AgentEvent & { type: 'action' }, ctx: RunContext, sink: Sink<AgentEvent>): Promise<void> {
    if (event.action.type !== 'interrupt') return
    const { state = null, interrupts } = event.action
    const suspended = makeCheckpoint(
      this.#parts.flow.name,
      this.runId,
      { interrupts, state },
      this.#opening?.checkpoint,
    )
    if (interrupts.length > 0) {
      // Whoever has stopped the run is not asked.
      ctx.throwIfAborted()
      await this.#commit(ctx.state, suspended)
      ctx.throwIfAborted()
      this.#suspended = suspended
      const wait = sink.write({ ...event, action: { type: 'interrupt', interrupts: suspended.interrupts } })
      if (!wait) return
      this.#watch.park(wait, event.type)
      await wait
    } else this.#suspended = suspended
  }

  #openCalls(said: readonly Message[]): OpenCalls {
    return new OpenCalls(this.#thread?.checkpoint !== undefined, this.#history, said)
  }

  /** Stores what is new. Contract: one commit for a turn, and before it a first one if the run ends with a question. */
  async #commit(state: State, suspended: Checkpoint | undefined = this.#suspended): Promise<void> {
    const { store } = this.#parts
    const { session, runId } = this
    const [thread, lease] = [this.#thread, this.#lease]
    if (!thread || !lease || this.#watch.lost) return
    this.#log.settle()
    const said = [...this.#given, ...this.#log.said]
    const calls = this.#openCalls(said)
    const all = suspended ? said : calls.answered(said)
    const stored = this.#stored
    if (stored?.suspended === suspended && stored?.ids.size === all.length) return
    const processed = this.#wish.answers ? undefined : this.#wish.input.processed
    await persistently(this.clock, () =>
      store.threads.commit(
        session,
        {
          ...changes(thread.state, state),
          messages: all.filter(({ id }) => !stored?.ids.has(id)).map((message) => ({ runId, message })),
          openCalls: suspended ? calls.besides(suspended.interrupts) : [],
          checkpoint: suspended ?? null,
          ...(processed && { processed }),
        },
        lease.token,
      ),
    )
    this.#stored = { suspended, ids: new Set(all.map(({ id }) => id)) }
  }
}

const ATTEMPTS = 3

/** Tries again what may succeed later. */
async function persistently<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !KernelError.is(error) || !error.retryable) throw error
      await new Promise<void>((resolve) => void clock.after(100 * attempt, resolve, true))
    }
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
