import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { type OtelOptions, otel } from '@troupe/otel'
import type { Workload } from '../measure.ts'
import { TURNS, toolTurns } from '../tool-turns.ts'
import { type BareSdk, bareSdk } from './bare-sdk.ts'

function run(options: OtelOptions): () => Promise<unknown> {
  const tracing = otel(options)
  return toolTurns([tracing.handler], { callbacks: [tracing] })
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
  const handWritten = toolTurns()
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
