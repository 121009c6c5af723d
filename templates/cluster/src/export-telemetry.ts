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

/** Registers an SDK whose exporters read the `OTEL_EXPORTER_OTLP_…` variables. */
export function exportTelemetry(service: string): Telemetry {
  const resource = resourceFromAttributes({ 'service.name': service })
  const processor = new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })
  const tracerProvider = new TracerProvider({ resource, spanProcessors: [processor] })
  const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })
  const meterProvider = new MeterProvider({ resource, readers: [reader] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(tracerProvider)
  metrics.setGlobalMeterProvider(meterProvider)
  const tracing = otel()
  return {
    callbacks: [tracing],
    handlers: [tracing.handler],
    async [Symbol.asyncDispose]() {
      for (const api of [context, propagation, trace, metrics]) api.disable()
      // A collector that is down must not keep the app from ending.
      await Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()])
    },
  }
}
