import { type Attributes, type Context, type Span, trace } from '@opentelemetry/api'
import type { RunInfo } from '@troupe/kernel'

/** A span of a run that has not ended. */
export class OpenSpan {
  readonly span: Span
  readonly info: RunInfo
  /** Who opened it, and ends it. */
  readonly owner: object
  readonly parent: OpenSpan | undefined
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
  /** An older open span with the same id. */
  shadowed: OpenSpan | undefined

  constructor(
    span: Span,
    info: RunInfo,
    owner: object,
    parent: OpenSpan | undefined,
    outer: Context,
    metrics: Attributes,
  ) {
    this.span = span
    this.info = info
    this.owner = owner
    this.parent = parent
    this.#outer = outer
    this.metrics = metrics
    this.startedAt = performance.now()
  }

  /** The context in which the span is active. */
  get context(): Context {
    this.#context ??= trace.setSpan(this.#outer, this.span)
    return this.#context
  }

  /** Whether a journal has given what the call gave before: an agent with the handler would have reached the wraps. */
  get isReplayed(): boolean {
    return !this.reached && this.parent?.handled === true
  }
}
