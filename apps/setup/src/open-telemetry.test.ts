import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { afterEach, expect, test, vi } from 'vitest'
import { openTelemetry } from './open-telemetry.ts'

afterEach(() => vi.unstubAllEnvs())

const greeter = {
  name: 'greeter',
  description: '',
  run: (_: unknown, ctx: Parameters<typeof say>[0]) => say(ctx, 'Hi'),
}

test('without an endpoint there is nothing to observe with', async () => {
  await using telemetry = await openTelemetry('app', {})
  expect([telemetry.callbacks, telemetry.handlers]).toEqual([[], []])
})

test.each([
  [{}, ['/v1/metrics', '/v1/traces']],
  [{ OTEL_METRICS_EXPORTER: 'none' }, ['/v1/traces']],
])('with an endpoint and %j, what is left is exported when the app ends', async (env, paths) => {
  const bodies: Record<string, string> = {}
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies[request.url ?? ''] = body
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const telemetry = await openTelemetry('troupe-test', { ...process.env, ...env })
  await startRun(greeter, 'Hi', { callbacks: telemetry.callbacks })
  await telemetry[Symbol.asyncDispose]()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(Object.keys(bodies).sort()).toEqual(paths)
  expect(bodies['/v1/traces']).toContain('invoke_workflow greeter')
  expect(bodies['/v1/traces']).toContain('troupe-test')
  expect(bodies['/v1/metrics'] ?? 'troupe.run.active').toContain('troupe.run.active')
})
