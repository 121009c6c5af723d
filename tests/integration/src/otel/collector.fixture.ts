import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
// A version with the definitions of OTLP; what exports here is newer and only writes requests.
import definitions from '@opentelemetry/otlp-transformer/build/src/generated/root.js'

/** A span as it came over the wire, with its ids in hexadecimal. */
export interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

/** A server on loopback that takes OTLP over HTTP in protobuf, and answers every other request. */
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
  const takes: Readonly<Record<string, (body: Buffer) => void>> = {
    '/v1/traces': (body) => {
      const { resourceSpans } = decoded(trace.v1.ExportTraceServiceRequest, body)
      const scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
      for (const span of scopes.flatMap((scope) => scope.spans)) spans.push(wireSpan(span))
    },
    '/v1/metrics': (body) => {
      const { resourceMetrics } = decoded(metrics.v1.ExportMetricsServiceRequest, body)
      const scopes = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)
      for (const { name } of scopes.flatMap((scope) => scope.metrics)) metricNames.add(name)
    },
  }
  const server = createServer(async (request, response) => {
    const body = await bytesOf(request)
    const take = takes[request.url ?? '']
    if (take) take(body)
    else requests.push(String(request.headers.traceparent))
    response.end()
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

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The definition of a message, made by the OpenTelemetry project. */
interface Definition<Message> {
  decode(bytes: Uint8Array): Message
  encode(message: Message): { finish(): Uint8Array }
}

interface Ids {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
}

interface Value {
  /** The name of the field that is set. */
  readonly value: 'stringValue' | 'intValue' | 'doubleValue' | 'boolValue' | 'arrayValue'
  readonly arrayValue?: { readonly values: readonly Value[] }
  readonly [field: string]: unknown
}

interface Span extends Ids {
  readonly parentSpanId: Uint8Array
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
  readonly links: readonly Ids[]
}

interface TraceRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[]
  }[]
}

interface Definitions {
  readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Definition<TraceRequest> } }
  readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: Definition<MetricsRequest> } }
}

const { trace, metrics } = (
  definitions as unknown as { readonly opentelemetry: { readonly proto: { readonly collector: Definitions } } }
).opentelemetry.proto.collector

/** Reads a message. Contract: throws for bytes that are not one, and for fields that the definition does not have. */
function decoded<Message>(definition: Definition<Message>, body: Buffer): Message {
  const message = definition.decode(body)
  const { length } = definition.encode(message).finish()
  if (length !== body.length) throw new Error(`collector: of ${body.length} bytes only ${length} are defined`)
  return message
}

function wireSpan({ name, parentSpanId, attributes, links, ...ids }: Span): WireSpan {
  return {
    name,
    parentSpanId: hex(parentSpanId),
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)])),
    links: links.map(hexIds),
    ...hexIds(ids),
  }
}

function hexIds({ traceId, spanId }: Ids): { readonly traceId: string; readonly spanId: string } {
  return { traceId: hex(traceId), spanId: hex(spanId) }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function plain(value: Value): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plain)
  const given = value[value.value]
  return value.value === 'intValue' ? Number(given) : given
}
