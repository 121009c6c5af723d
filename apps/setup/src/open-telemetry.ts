import type { Telemetry } from './telemetry.ts'

/**
 * Exports traces and metrics over OTLP, if the environment says where to.
 * Contract: the exporters read the `OTEL_EXPORTER_OTLP_…` variables themselves; without an endpoint no SDK is loaded, and with `OTEL_METRICS_EXPORTER=none` nothing is measured.
 */
export async function openTelemetry(service: string, env: NodeJS.ProcessEnv): Promise<Telemetry> {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) return NONE
  const { exportTelemetry } = await import('./export-telemetry.ts')
  return exportTelemetry(env.OTEL_SERVICE_NAME || service, env.OTEL_METRICS_EXPORTER !== 'none')
}

const NONE: Telemetry = {
  callbacks: [],
  handlers: [],
  traceIdOf: () => undefined,
  [Symbol.asyncDispose]: async () => {},
}
