import {
  context,
  type MeterProvider,
  type SpanContext,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { AgentHandler, Callback, RunContext } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { activeCalls, agentStepOf } from './active-calls.ts'
import { type Redact, ShownContent } from './content.ts'
import { InstrumentsOf } from './instruments.ts'
import { OpenSpans } from './open-spans.ts'
import { TracedRun } from './traced-run.ts'

/** Options of `otel`. */
export interface OtelOptions {
  /** Whether spans show instructions, messages, arguments and results; a function decides what of each text they show. @default false */
  readonly content?: boolean | Redact
  /** Whether requests inside a run have the thread in their baggage, as `gen_ai.conversation.id`: other services, the model's vendor included, then see it. @default false */
  readonly baggage?: boolean
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
  /** @default the global one */
  readonly meterProvider?: MeterProvider
}

/** A callback that traces and measures runs. */
export interface Otel extends Callback {
  /** Makes the span of a model or tool call active while it is under way, so that what it does hangs below it. Contract: put it first. */
  readonly handler: AgentHandler
  /** Gives the ids of the open span at a step, or of the agent of a context; undefined if there is none. */
  idsOf(ctx: RunContext, step?: string): TraceIds | undefined
}

/** The ids of a span. */
export type TraceIds = Readonly<Pick<SpanContext, 'traceId' | 'spanId'>>

const NAME = 'otel'
const SCOPE = '@troupe/otel'
const OFF: Callback = { name: NAME }

/**
 * Traces and measures runs with OpenTelemetry: `invoke_workflow`, `invoke_agent`, `chat` and `execute_tool`.
 * Contract: the span that is active where a run is asked for is its parent; without an SDK nothing is observed.
 * @example const tracing = otel()
 * const guide = chatModelAgent({ name: 'guide', model, handlers: [tracing.handler] })
 * const chat = runner({ agent: guide, callbacks: [tracing] })
 */
export function otel(options: OtelOptions = {}): Otel {
  checkOptionNames(NAME, options, { content: true, baggage: true, tracerProvider: true, meterProvider: true })
  const { content = false, baggage = false, tracerProvider, meterProvider } = options
  checkOption(
    typeof content === 'boolean' || typeof content === 'function',
    NAME,
    'content must be true, false or a function that redacts a text',
    content,
  )
  checkOption(typeof baggage === 'boolean', NAME, 'baggage must be true or false', baggage)
  const spans = new OpenSpans()
  const shown = content === false ? undefined : new ShownContent(content === true ? (text) => text : content)
  const instruments = new InstrumentsOf(meterProvider, [SCOPE])
  return {
    name: NAME,
    forRun() {
      const measured = instruments.now()
      const tracer = tracerOf(tracerProvider, measured !== undefined)
      if (!tracer) return OFF
      return new TracedRun(NAME, { tracer, instruments: measured, spans, content: shown, baggage }, context.active())
    },
    handler: activeCalls(NAME, spans, () => instruments.now()),
    idsOf(ctx, step = agentStepOf(ctx)) {
      const span = spans.find(ctx.session, ctx.runId, step)?.span.spanContext()
      return span && { traceId: span.traceId, spanId: span.spanId }
    },
  }
}

/** The global provider before an SDK is registered. */
interface ProxyProvider extends TracerProvider {
  getDelegateTracer?(name: string): Tracer | undefined
}

/** The tracer of the SDK; undefined without one, unless runs are measured. */
function tracerOf(own: TracerProvider | undefined, measured: boolean): Tracer | undefined {
  const provider: ProxyProvider = own ?? trace.getTracerProvider()
  const tracer = provider.getDelegateTracer ? provider.getDelegateTracer(SCOPE) : provider.getTracer(SCOPE)
  return tracer ?? (measured ? provider.getTracer(SCOPE) : undefined)
}
