import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { chatModelAgent } from '@troupe/chat-model'
import { type ChatModel, defineTool, type ModelPart, stream } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { type OtelOptions, otel } from '@troupe/otel'
import { expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'
import { type BareSdk, bareSdk } from './bare-sdk.ts'

/** Turns of a run: all but the last call a tool. */
const TURNS = 11

const usage = { inputTokens: 1, outputTokens: 1 }

/** A model without latency, which calls a tool in every turn but the last. */
const model: ChatModel = {
  name: 'bench:model',
  stream: ({ messages }) =>
    stream<ModelPart>(async (sink) => {
      const done = messages.filter(({ role }) => role === 'tool').length
      for (const part of done < TURNS - 1 ? callOf(done) : ANSWER) {
        const wait = sink.write(part)
        if (wait) await wait
      }
    }),
}

const ANSWER: readonly ModelPart[] = [
  { type: 'text-delta', delta: 'Done.' },
  { type: 'finish', reason: 'stop', usage },
]

function callOf(turn: number): readonly ModelPart[] {
  const callId = `c${turn}`
  return [
    { type: 'tool-call-start', callId, name: 'look' },
    { type: 'tool-call-delta', callId, delta: '{}' },
    { type: 'tool-call-end', callId },
    { type: 'finish', reason: 'tool-calls', usage },
  ]
}

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, invoke: () => 'seen' })

function run(options?: OtelOptions): () => Promise<unknown> {
  const tracing = options && otel(options)
  const agent = chatModelAgent({ name: 'a', model, tools: [look], ...(tracing && { handlers: [tracing.handler] }) })
  const settings = tracing ? { callbacks: [tracing] } : {}
  return () => expectText(5, startRun(agent, 'Go.', settings))
}

/** An exporter that has nothing to do: what is measured is the plugin and the SDK. */
const nowhere: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
}

/** What traces and metrics cost, and how much of it is the SDK's own; the hand-written side is the same run without the plugin. */
export function otelWorkloads(): readonly Workload[] {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter: nowhere })] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const handWritten = run()
  const workload = (name: string, options: OtelOptions): Workload => ({
    name,
    unit: 'turn',
    units: TURNS,
    handWritten,
    troupe: run(options),
  })
  const [tracer, meter] = [tracerProvider.getTracer('bench'), meterProvider.getMeter('bench')]
  const byHand = (name: string, sdk: BareSdk): Workload => {
    const spans = bareSdk(sdk, TURNS)
    const both = async () => {
      await handWritten()
      await spans()
    }
    return { name, unit: 'turn', units: TURNS, handWritten, troupe: both }
  }
  return [
    byHand('a turn, and the spans of one with otel() by hand', { tracer }),
    byHand('a turn, and the spans and measurements of one with otel() by hand', { tracer, meter }),
    workload('a turn with otel(), without an SDK', {}),
    workload('a turn with otel(), with a batching SDK', { tracerProvider }),
    workload('a turn with otel(), with a batching SDK and metrics', { tracerProvider, meterProvider }),
  ]
}
