import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = {
  readonly stringValue?: string
  readonly intValue?: number
  readonly arrayValue?: { readonly values: readonly Value[] }
}

/** A span as OTLP writes it in JSON. */
export interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

/** A server on loopback that takes OTLP over HTTP, and answers every other request. */
export interface Collector extends AsyncDisposable {
  readonly url: string
  readonly spans: WireSpan[]
  readonly metricNames: Set<string>
  /** The `traceparent` of the requests that were no exports. */
  readonly requests: string[]
}

export async function openCollector(): Promise<Collector> {
  const spans: WireSpan[] = []
  const metricNames = new Set<string>()
  const requests: string[] = []
  const takes: Readonly<Record<string, (body: string) => void>> = {
    '/v1/traces': (body) => {
      for (const { spans: some } of scopesIn(body, 'resourceSpans', 'scopeSpans')) spans.push(...(some as WireSpan[]))
    },
    '/v1/metrics': (body) => {
      const scopes = scopesIn(body, 'resourceMetrics', 'scopeMetrics')
      for (const { metrics } of scopes) for (const { name } of metrics as { name: string }[]) metricNames.add(name)
    },
  }
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    const take = takes[request.url ?? '']
    if (take) take(body)
    else requests.push(String(request.headers.traceparent))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metricNames,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

type Scope = { readonly [field: string]: unknown }

function scopesIn(body: string, resources: string, scopes: string): readonly Scope[] {
  const all = JSON.parse(body)[resources] as readonly { readonly [field: string]: readonly Scope[] }[]
  return all.flatMap((resource) => resource[scopes] ?? [])
}
