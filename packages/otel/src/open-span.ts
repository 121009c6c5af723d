import { type Attributes, type Context, type Span, trace } from '@opentelemetry/api'
import type { ThreadRef } from '@troupe/kernel'

/** A span of a run that has not ended. */
export class OpenSpan {
  readonly span: Span
  /** Milliseconds, by `performance.now()`. */
  readonly startedAt: number
  /** The attributes of what is measured. */
  readonly metrics: Attributes
  readonly #outer: Context
  #context: Context | undefined
  /** Whether the wraps of the call were reached; they are not where a journal gives what the call gave before. */
  reached = false
  /** Whether the agent has the handler, so that its calls can tell whether they were reached. */
  handled = false
  /** Milliseconds from the start to the first part of an answer. */
  firstPartMs: number | undefined

  constructor(span: Span, outer: Context, metrics: Attributes) {
    this.span = span
    this.#outer = outer
    this.metrics = metrics
    this.startedAt = performance.now()
  }

  /** The context in which the span is active. */
  get context(): Context {
    this.#context ??= trace.setSpan(this.#outer, this.span)
    return this.#context
  }
}

/** The open spans of all runs, for callers that have the context of a run: by its session, and there by span id. */
export class OpenSpans {
  // The object of the session tells apart two runs with the same id in different threads.
  readonly #bySession: WeakMap<ThreadRef, Map<string, OpenSpan>> = new WeakMap()

  of(session: ThreadRef): Map<string, OpenSpan> {
    let spans = this.#bySession.get(session)
    if (!spans) {
      spans = new Map()
      this.#bySession.set(session, spans)
    }
    return spans
  }

  find(session: ThreadRef, spanId: string): OpenSpan | undefined {
    return this.#bySession.get(session)?.get(spanId)
  }
}
