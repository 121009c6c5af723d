import {
  type Attributes,
  type Context,
  isSpanContextValid,
  propagation,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type {
  AgentInput,
  Callback,
  ErrorInfo,
  EventOf,
  Json,
  ModelRequest,
  ModelResult,
  Outcome,
  RunInfo,
  RunResult,
  SpanHooks,
  ToolCallInput,
  ToolCallResult,
} from '@troupe/kernel'
import type { ShownContent } from './content.ts'
import { ATTR, modelNameOf, OPERATION } from './conventions.ts'
import type { Instruments } from './instruments.ts'
import { activeRunsOf, METRICS_OF, tokensOf } from './metric-attributes.ts'
import { OpenSpan } from './open-span.ts'
import { type OpenSpans, SessionSpans } from './open-spans.ts'
import { agentStart, modelStart, runStart, setCaller, setUsage, toolStart } from './span-attributes.ts'
import { fromTraceParent, toTraceParent } from './trace-parent.ts'

/** What the runs of one plugin share. */
export interface RunTracing {
  readonly tracer: Tracer
  readonly instruments: Instruments | undefined
  readonly spans: OpenSpans
  readonly content: ShownContent | undefined
  readonly baggage: boolean
}

/** The errors that end a call without being a failure of it. */
const STOPPED: ReadonlyMap<string, Outcome> = new Map([
  ['ABORTED', 'cancelled'],
  ['INTERRUPTED', 'interrupted'],
])

/** How something has ended: its outcome, and the code of the error of one that failed. */
interface Ended {
  readonly outcome: Outcome
  readonly code?: string
}

/** Observes one root run with the runs nested in it. Contract: the words of an error stay out of the trace, because they may quote the conversation. */
export class TracedRun implements Callback {
  readonly name: string
  readonly run: SpanHooks<AgentInput, RunResult>
  readonly agent: SpanHooks<AgentInput, EventOf<'agent-end'>>
  readonly model: SpanHooks<ModelRequest, ModelResult>
  readonly tool: SpanHooks<ToolCallInput, ToolCallResult>
  readonly #tracing: RunTracing
  readonly #caller: Context
  #spans: SessionSpans = new SessionSpans()
  #root: SpanContext | undefined

  /** `caller` is the context that was active where the run was asked for. */
  constructor(name: string, tracing: RunTracing, caller: Context) {
    this.name = name
    this.#tracing = tracing
    this.#caller = caller
    this.run = {
      onStart: (info) => {
        if (info.parentSpanId === undefined) this.#beginRoot(info)
        else this.#begin(info, SpanKind.INTERNAL, runStart(info))
      },
      onEnd: (info, { outcome, error }) => this.#endRun(info, { outcome, ...codeOf(error) }),
      onError: (info, { code }) => this.#endRun(info, { outcome: 'failed', code }),
    }
    this.agent = {
      onStart: (info) => void this.#begin(info, SpanKind.INTERNAL, agentStart(info)),
      onEnd: (info, { outcome, error }) => this.#end(this.#spans.take(info, this), { outcome, ...codeOf(error) }),
      onError: (info, { code }) => this.#end(this.#spans.take(info, this), { outcome: 'failed', code }),
    }
    this.model = {
      onStart: (info, request) => this.#beginModel(info, request),
      onEnd: (info, result) => this.#endModel(info, result),
      onError: (info, { code }) => this.#end(this.#spans.take(info, this), endedBy(code)),
    }
    this.tool = {
      onStart: (info, input) => this.#beginTool(info, input),
      onEnd: (info, result) => this.#endTool(info, result),
      onError: (info, { code }) => this.#endTool(info, { content: '', error: { code, message: '' } }),
    }
  }

  /** The run is the parent of the one that goes on from it, or is linked to it. */
  keep(): Json | undefined {
    return this.#root && toTraceParent(this.#root)
  }

  #beginRoot(info: RunInfo): void {
    const { tracer, spans, instruments, baggage } = this.#tracing
    this.#spans = spans.of(info.session)
    const before = fromTraceParent(info.kept?.[this.name])
    const called = isSpanContextValid(trace.getSpanContext(this.#caller) ?? NO_SPAN)
    let outer = this.#caller
    if (before && !called) outer = trace.setSpanContext(outer, before)
    if (baggage) {
      const entries = propagation.getBaggage(outer) ?? propagation.createBaggage()
      const entry = { value: info.session.threadId }
      outer = propagation.setBaggage(outer, entries.setEntry(ATTR.conversation, entry))
    }
    const options = {
      kind: SpanKind.INTERNAL,
      attributes: runStart(info),
      ...(before && called && { links: [{ context: before }] }),
    }
    const span = tracer.startSpan(`${OPERATION.run} ${info.name}`, options, outer)
    this.#root = span.spanContext()
    this.#spans.add(new OpenSpan(span, info, this, undefined, outer, METRICS_OF.run(info.name)))
    instruments?.activeRuns.add(1, activeRunsOf(info.name))
  }

  #endRun(info: RunInfo, ended: Ended): void {
    const open = this.#spans.take(info, this)
    if (open && info.parentSpanId === undefined) {
      this.#tracing.instruments?.activeRuns.add(-1, activeRunsOf(info.name))
    }
    this.#end(open, ended)
  }

  #beginModel(info: RunInfo, request: ModelRequest): void {
    const { content } = this.#tracing
    const { span } = this.#begin(info, SpanKind.CLIENT, modelStart(info, request))
    setCaller(span, info)
    if (!content || !span.isRecording()) return
    const instructions = content.instructions(request)
    if (instructions !== undefined) span.setAttribute(ATTR.instructions, instructions)
    span.setAttribute(ATTR.inputMessages, content.input(request))
  }

  #endModel(info: RunInfo, result: ModelResult): void {
    const open = this.#spans.take(info, this)
    if (!open) return
    const { instruments, content } = this.#tracing
    const { span, firstPartMs } = open
    try {
      if (!open.isReplayed) instruments?.addTokens(result.usage, tokensOf(info.name)(result.model))
      if (!span.isRecording()) return
      span.setAttribute(ATTR.responseModel, modelNameOf(result.model).model)
      span.setAttribute(ATTR.finishReasons, [result.finishReason])
      setUsage(span, result.usage)
      if (firstPartMs !== undefined) span.setAttribute(ATTR.timeToFirstChunk, firstPartMs / 1000)
      if (content) span.setAttribute(ATTR.outputMessages, content.output(result))
    } finally {
      this.#end(open, COMPLETE)
    }
  }

  #beginTool(info: RunInfo, input: ToolCallInput): void {
    const { content } = this.#tracing
    const { span } = this.#begin(info, SpanKind.INTERNAL, toolStart(info, input))
    setCaller(span, info)
    const args = content && span.isRecording() ? content.text(input.arguments, 'arguments') : undefined
    if (args !== undefined) span.setAttribute(ATTR.toolArguments, args)
  }

  #endTool(info: RunInfo, { content: given, error }: ToolCallResult): void {
    const open = this.#spans.take(info, this)
    if (!open) return
    const { instruments, content } = this.#tracing
    const ended = error ? endedBy(error.code) : COMPLETE
    try {
      if (ended.code !== undefined && !open.isReplayed) {
        instruments?.toolFailures.add(1, { ...open.metrics, [ATTR.errorType]: ended.code })
      }
      if (!content || error || !open.span.isRecording()) return
      const result = content.text(given, 'result')
      if (result !== undefined) open.span.setAttribute(ATTR.toolResult, result)
    } finally {
      this.#end(open, ended)
    }
  }

  #begin(info: RunInfo, kind: SpanKind, attributes: Attributes): OpenSpan {
    const { component, parentSpanId } = info
    const parent = parentSpanId === undefined ? undefined : this.#spans.get(parentSpanId)
    const outer = parent?.context ?? this.#caller
    const shown = component === 'model' ? modelNameOf(info.name).model : info.name
    const span = this.#tracing.tracer.startSpan(`${OPERATION[component]} ${shown}`, { kind, attributes }, outer)
    const open = new OpenSpan(span, info, this, parent, outer, METRICS_OF[component](info.name))
    this.#spans.add(open)
    return open
  }

  /** Contract: a span that was not begun is not ended, and one that was ends once, whatever else fails. */
  #end(open: OpenSpan | undefined, { outcome, code }: Ended): void {
    if (!open) return
    const { span, startedAt, metrics, isReplayed } = open
    const { instruments } = this.#tracing
    try {
      if (isReplayed) span.setAttribute(ATTR.replayed, true)
      if (outcome !== 'complete') span.setAttribute(ATTR.outcome, outcome)
      if (code !== undefined) {
        span.setAttribute(ATTR.errorType, code)
        span.setStatus({ code: SpanStatusCode.ERROR, message: code })
      }
      const attributes = code === undefined ? metrics : { ...metrics, [ATTR.errorType]: code }
      if (!isReplayed) instruments?.duration.record((performance.now() - startedAt) / 1000, attributes)
    } finally {
      span.end()
    }
  }
}

const NO_SPAN: SpanContext = { traceId: '', spanId: '', traceFlags: 0 }
const COMPLETE: Ended = { outcome: 'complete' }

function endedBy(code: string): Ended {
  const outcome = STOPPED.get(code)
  return outcome ? { outcome } : { outcome: 'failed', code }
}

/** The code of an error, of something that failed. */
function codeOf(error: ErrorInfo | undefined): { readonly code?: string } {
  return error && !STOPPED.has(error.code) ? { code: error.code } : {}
}
