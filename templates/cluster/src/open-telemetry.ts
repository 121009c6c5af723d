import type { Telemetry } from './telemetry.ts'

/** Exports traces and metrics over OTLP if the environment says where to; without an endpoint no SDK is loaded. */
export async function openTelemetry(env: NodeJS.ProcessEnv): Promise<Telemetry> {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) return { callbacks: [], handlers: [], [Symbol.asyncDispose]: async () => {} }
  const { exportTelemetry } = await import('./export-telemetry.ts')
  return exportTelemetry(env.OTEL_SERVICE_NAME || 'clerk')
}
