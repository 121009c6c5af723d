import type { Clock } from '../context/clock.ts'
import type { CancelMode } from '../context/context.ts'
import type { TrackedState } from '../context/state.ts'
import { type ErrorInfo, KernelError, read } from '../data/error.ts'
import type { AgentEvent, EventStamp, Outcome } from '../data/event.ts'
import { addUsage, type Message, NO_USAGE, type Usage } from '../data/message.ts'
import type { ThreadRef } from '../store/store.ts'
import type { Sink } from '../stream/stream.ts'
import { CallIds } from './call-ids.ts'
import type { RunInfo, Span, Spans } from './callback.ts'
import type { Listeners } from './listeners.ts'

/** How long a root run waits for its agent after an abort before it ends without it; nested ones wait less, so that they end inside it. */
const GRACE_MS = 1_000

/** What is taken after an abort, so that everybody can end properly; nothing new begins. */
export const CLOSING: ReadonlySet<AgentEvent['type']> = new Set([
  'message-end',
  'tool-end',
  'state-delta',
  'error',
  'agent-end',
  'run-end',
])

/** What a run is made of from the start. */
export type CoreSettings = Pick<
  RunCore,
  'runId' | 'session' | 'clock' | 'listeners' | 'canInterrupt' | 'cancelling' | 'depth' | 'parent'
>

/** The tool call around a nested run. */
interface Parent {
  readonly core: RunCore
  readonly callId: string
  readonly spanId: string
  readonly origin: string
}

/** An agent or a span that has begun and must be ended with its run. */
export interface OpenEnd {
  close(error: KernelError): void
}

/** What all contexts of one run share. */
export class RunCore {
  readonly runId: string
  readonly session: ThreadRef
  readonly clock: Clock
  readonly listeners: Listeners | undefined
  readonly canInterrupt: boolean
  readonly cancelling: (() => CancelMode | undefined) | undefined
  readonly depth: number
  readonly parent: Parent | undefined
  /** Few at a time, so a list is cheaper than a set. */
  readonly #openEnds: OpenEnd[] = []
  #nested: Set<Promise<unknown>> | undefined
  usage: Usage = NO_USAGE
  /** The state that the run began with, once it has begun. */
  state: TrackedState | undefined
  /** What was said before. */
  history: readonly Message[] = []
  /** The run's end of the stream, once it has begun. */
  recorder: Sink<AgentEvent> | undefined
  /** The consumer has left: nothing is shown any more, and no new effect may begin. */
  consumerLeft = false
  /** Nothing more is taken: the run has ended. */
  ended = false
  #reported: ErrorInfo | undefined
  #failure: KernelError | undefined
  #aborted: { readonly reason: unknown } | undefined
  #abortError: KernelError | undefined
  #controller: AbortController | undefined
  readonly #onAbort: (() => void)[] = []
  #counters: Map<string, number> | undefined
  #calls: CallIds | undefined
  #runInfo: RunInfo | undefined

  constructor(settings: CoreSettings) {
    this.runId = settings.runId
    this.session = settings.session
    this.clock = settings.clock
    this.listeners = settings.listeners
    this.canInterrupt = settings.canInterrupt
    this.cancelling = settings.cancelling
    this.depth = settings.depth
    this.parent = settings.parent
  }

  get aborted(): boolean {
    return this.#aborted !== undefined
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = { reason }
    this.#controller?.abort(reason)
    for (const listener of [...this.#onAbort]) listener()
  }

  /** Aborts with `signal`; gives the way to stop following it. */
  follow(signal: AbortSignal): () => void {
    const abort = () => this.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
    return () => signal.removeEventListener('abort', abort)
  }

  /** Waits for work, but after an abort no longer than the grace; meanwhile the process stays alive. */
  settle<T>(work: Promise<T>, graceMs: number = GRACE_MS / (this.depth + 1)): Promise<T> {
    return new Promise((resolve, reject) => {
      let cancelTimer: (() => void) | undefined
      const onAbort = () => {
        cancelTimer = this.clock.after(graceMs, () => reject(this.abortError))
      }
      const done = () => {
        remove(this.#onAbort, onAbort)
        cancelTimer?.()
      }
      work.then(
        (value) => {
          done()
          resolve(value)
        },
        (error: unknown) => {
          done()
          reject(error)
        },
      )
      this.#onAbort.push(onAbort)
      if (this.#aborted) onAbort()
    })
  }

  /** The error of the abort, where there was one. */
  get abortError(): KernelError | undefined {
    if (this.#aborted) this.#abortError ??= abortError(this.#aborted.reason)
    return this.#abortError
  }

  throwIfAborted(): void {
    if (this.abortError) throw this.abortError
  }

  /** How a run or agent that stopped early ended: an abort that was caused by an error is a failure. */
  conclude(thrown: unknown, signal?: AbortSignal): { readonly outcome: Outcome; readonly error: KernelError } {
    // An error that was shown stays the outcome, even if an abort followed.
    if (thrown !== undefined && this.#reported && this.wasReported(KernelError.from(thrown))) {
      return { outcome: 'failed', error: this.#known(KernelError.from(thrown)) }
    }
    const aborted = this.abortError ?? (signal?.aborted ? abortError(signal.reason) : undefined)
    const error = this.#known(aborted ?? KernelError.from(thrown))
    const wanted = error.code === 'ABORTED' && (aborted ?? this.cancelling?.())
    // An agent that is cancelled because of a failure does not replace that failure.
    if (!wanted || !this.#failure) this.#failure = error
    return { outcome: wanted ? 'cancelled' : 'failed', error }
  }

  /** The same error as it was first thrown, if it was put into JSON and read back on its way. */
  #known(error: KernelError): KernelError {
    const { code, message } = this.#failure ?? {}
    return this.#failure && code === error.code && message === error.message ? this.#failure : error
  }

  nextId(step: string): string {
    this.#counters ??= new Map()
    const count = (this.#counters.get(step) ?? 0) + 1
    this.#counters.set(step, count)
    return `${this.runId}/${step}#${count}`
  }

  /** The id under which a call is known in the thread. */
  claimCall(callId: string, step: string): string {
    this.#calls ??= new CallIds(this.history)
    const id = this.#calls.isTaken(callId) ? this.nextId(step) : callId
    this.#calls.take(id)
    return id
  }

  addUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }

  /** The same error is shown once per run, however many agents pass it on. */
  wasReported({ code, message }: ErrorInfo): boolean {
    return this.#reported?.code === code && this.#reported.message === message
  }

  markReported(error: ErrorInfo): void {
    this.#reported = error
  }

  /** Whether an error would be lost behind the abort that came before it. */
  hides(error: unknown): boolean {
    return this.#aborted !== undefined && error !== this.abortError && !KernelError.is(error, 'ABORTED')
  }

  /** Ends everything that is still open. */
  closeOpenEnds(): void {
    const { error } = this.conclude(undefined)
    for (const openEnd of this.#openEnds.toReversed()) openEnd.close(error)
  }

  track(openEnd: OpenEnd): void {
    this.#openEnds.push(openEnd)
  }

  untrack(openEnd: OpenEnd): void {
    remove(this.#openEnds, openEnd)
  }

  get hasOpenEnds(): boolean {
    return this.#openEnds.length > 0
  }

  /** Counts a nested run until it has ended. */
  nest<T>(run: Promise<T>): Promise<T> {
    this.#nested ??= new Set()
    this.#nested.add(run)
    const ended = () => this.#nested?.delete(run)
    run.then(ended, ended)
    return run
  }

  /** Contract: no nested run outlives the run around it. */
  endNested(): Promise<unknown> | undefined {
    if (!this.#nested?.size) return undefined
    this.abort(new KernelError('ABORTED', `run ${this.runId}: ended while a nested run was under way`))
    return Promise.allSettled(this.#nested)
  }

  /** The error to reject with: the thrown one itself where it is known, with its stack and cause. */
  failureOf(error: ErrorInfo | undefined): KernelError {
    return this.#failure && this.#failure.message === error?.message ? this.#failure : KernelError.from(error)
  }

  part(event: AgentEvent): void {
    if (!this.listeners?.parts.length) return
    this.#runInfo ??= this.#info('run', event.agentName, 'run')
    this.listeners.part(this.#runInfo, event)
  }

  openSpan<C extends keyof Spans>(
    component: C,
    name: string,
    position: string,
    input: Spans[C]['input'],
    parentSpanId?: string,
    callId?: string,
  ): Span<C> | undefined {
    if (!this.listeners || this.ended) return undefined
    const span = this.listeners.open(this.#info(component, name, position, parentSpanId, callId), input)
    // Runs and agents see to their own spans.
    if (!span || component === 'run' || component === 'agent') return span
    const openEnd: OpenEnd = { close: (error) => span.fail(error) }
    this.track(openEnd)
    span.onClose = () => this.untrack(openEnd)
    return span
  }

  /** What hangs on a call or a step keeps its name when the calls around it run again. */
  within(name: string): string {
    return this.parent ? `${this.parent.origin}/${name}` : name
  }

  stamp(agentName: string, runPath: readonly string[]): EventStamp {
    const { runId, parent } = this
    return parent ? { runId, agentName, runPath, parentCallId: parent.callId } : { runId, agentName, runPath }
  }

  #info<C extends keyof Spans>(
    component: C,
    name: string,
    position: string,
    parentSpanId: string | undefined = this.parent?.spanId,
    callId?: string,
  ): RunInfo & { readonly component: C } {
    return {
      component,
      name,
      runId: this.runId,
      ...(this.parent && { parentRunId: this.parent.core.runId }),
      spanId: `${this.runId}/${position}`,
      ...(parentSpanId !== undefined && { parentSpanId }),
      ...(callId !== undefined && { callId }),
      session: this.session,
    }
  }
}

/** Mostly it was added last. */
function remove<T>(list: T[], item: T): void {
  if (list.at(-1) === item) list.pop()
  else if (list.includes(item)) list.splice(list.indexOf(item), 1)
}

function abortError(reason: unknown): KernelError {
  if (KernelError.is(reason)) return reason
  const message = read(reason, 'message')
  const why = typeof message === 'string' ? `, ${message}` : ''
  return read(reason, 'name') === 'TimeoutError'
    ? new KernelError('TIMEOUT', `run: took too long${why}`, { cause: reason })
    : new KernelError('ABORTED', `run: cancelled${why}`, { cause: reason })
}
