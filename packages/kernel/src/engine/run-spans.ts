import type { RunInfo, Span, Spans } from '../callback/callback.ts'
import type { Listeners } from '../callback/listeners.ts'
import type { AgentEvent } from '../data/event.ts'
import type { JsonObject } from '../data/json.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import type { OpenEnd, OpenEnds } from './open-ends.ts'

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

/** The run that the spans belong to. */
interface SpannedRun {
  readonly runId: string
  readonly session: ThreadRef
  readonly parent: { readonly runId: string; readonly spanId: string } | undefined
  /** Known when the first span opens. */
  readonly attempt: number | undefined
  /** Known when the first span opens, of a root run. */
  readonly kept: JsonObject | undefined
}

/** Opens the spans of one run and passes its events to the callbacks. */
export class RunSpans {
  readonly #listeners: Listeners
  readonly #openEnds: OpenEnds
  readonly #run: SpannedRun
  #runInfo: RunInfo | undefined
  #closed = false

  constructor(listeners: Listeners, openEnds: OpenEnds, run: SpannedRun) {
    this.#listeners = listeners
    this.#openEnds = openEnds
    this.#run = run
  }

  part(event: AgentEvent): void {
    if (this.#listeners.parts.length === 0) return
    this.#runInfo ??= this.#info('run', event.agentName, event.agentName, 'run')
    this.#listeners.part(this.#runInfo, event)
  }

  /** Contract: a model or tool span that is still open when the run ends fails then; runs and agents end their own spans. */
  open<C extends keyof Spans>(
    component: C,
    name: string,
    agentName: string,
    position: string,
    input: Spans[C]['input'],
    parentSpanId?: string,
    callId?: string,
  ): Span<C> | undefined {
    if (this.#closed) return undefined
    const span = this.#listeners.open(this.#info(component, name, agentName, position, parentSpanId, callId), input)
    if (!span || component === 'run' || component === 'agent') return span
    const openEnd: OpenEnd = { close: (error) => span.fail(error) }
    this.#openEnds.track(openEnd)
    span.onClose = () => this.#openEnds.untrack(openEnd)
    return span
  }

  /** Opens no further spans. */
  close(): void {
    this.#closed = true
  }

  #info<C extends keyof Spans>(
    component: C,
    name: string,
    agentName: string,
    position: string,
    parentSpanId: string | undefined = this.#run.parent?.spanId,
    callId?: string,
  ): RunInfo & { readonly component: C } {
    const { runId, session, parent, attempt, kept } = this.#run
    const info: Writable<RunInfo> = { component, name, agentName, runId, spanId: `${runId}/${position}`, session }
    if (parent) info.parentRunId = parent.runId
    if (parentSpanId !== undefined) info.parentSpanId = parentSpanId
    if (callId !== undefined) info.callId = callId
    if (attempt !== undefined) info.attempt = attempt
    if (kept && component === 'run') info.kept = kept
    return info as RunInfo & { readonly component: C }
  }
}
