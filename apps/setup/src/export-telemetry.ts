import { context, metrics, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { otel } from '@troupe/otel'
import type { Telemetry } from './telemetry.ts'

/** Registers an SDK that exports traces in batches, and metrics if it `measures`. Contract: what was not exported is exported when it is disposed. */
export function exportTelemetry(service: string, measures: boolean): Telemetry {
  const resource = resourceFromAttributes({ 'service.name': service })
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })
  const tracerProvider = new TracerProvider({ resource, spanProcessors: [processor] })
  const reader = measures && new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })
  const meterProvider = reader ? new MeterProvider({ resource, readers: [reader] }) : undefined
  const manager = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(manager)
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(tracerProvider)
  if (meterProvider) metrics.setGlobalMeterProvider(meterProvider)
  const tracing = otel()
  return {
    callbacks: [tracing],
    handlers: [tracing.handler],
    traceIdOf: (ctx) => tracing.idsOf(ctx)?.traceId,
    async [Symbol.asyncDispose]() {
      for (const api of [context, propagation, trace, metrics]) api.disable()
      // A collector that is down must not keep the app from ending.
      await Promise.allSettled([tracerProvider.shutdown(), meterProvider?.shutdown()])
    },
  }
}
