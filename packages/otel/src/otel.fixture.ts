import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { type Agent, type ModelPart, type ModelRequest, type RunContext, say } from '@troupe/kernel'
import { openSpan, runNested } from '@troupe/kernel/run'
import { type Otel, type OtelOptions, otel } from './otel.ts'

/** A plugin with an SDK that keeps what it exports. Contract: of the 2.x line, or of the 3.x line in the project `otel-3`. */
export interface TracedSetup {
  readonly tracing: Otel
  readonly provider: TracerProvider
  spans(): readonly ReadableSpan[]
  /** The spans as `parent > name`. */
  tree(): readonly string[]
  span(name: string): ReadableSpan
  metrics(): Promise<Readonly<Record<string, readonly { readonly attributes: object; readonly value: unknown }[]>>>
}

/** Makes the active context follow what is awaited. */
export function followAwaits(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
}

export function tracedSetup(options: OtelOptions = {}): TracedSetup {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 60_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const tracing = otel({ tracerProvider: provider, meterProvider, ...options })
  const spans = () => exporter.getFinishedSpans()
  return {
    tracing,
    provider,
    spans,
    tree: () => treeOf(spans()),
    span(name) {
      const found = spans().find((span) => span.name === name)
      if (!found) throw new Error(`no span ${name} in ${spans().map((span) => span.name)}`)
      return found
    },
    async metrics() {
      await reader.forceFlush()
      const latest = metricExporter.getMetrics().at(-1)
      await meterProvider.shutdown()
      const all = latest?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
      return Object.fromEntries(
        all.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => ({ attributes, value })),
        ]),
      )
    },
  }
}

/** Spans in the order in which they began, each with the name of its parent. */
function treeOf(spans: readonly ReadableSpan[]): readonly string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  return spans.map(({ name, parentSpanContext }) => {
    const parent = parentSpanContext && (names.get(parentSpanContext.spanId) ?? 'outside')
    return parent === undefined ? name : `${parent} > ${name}`
  })
}

export const USAGE = { inputTokens: 12, outputTokens: 3, cachedInputTokens: 8, cacheWriteTokens: 2, cost: 0.5 }
const request: ModelRequest = {
  instruction: 'Be secret.',
  messages: [{ id: 'u1', role: 'user', content: 'The secret.' }],
  tools: [],
  options: { temperature: 0 },
  step: 'model:0',
  idempotencyKey: 'k',
}

/** Calls a model through the handler, as a chat agent does. */
export async function callModel(
  ctx: RunContext,
  { handler }: Otel,
  parts: () => AsyncIterable<ModelPart>,
): Promise<void> {
  const own = { ...request, step: ctx.step === '' ? 'model:0' : `${ctx.step}/model:0` }
  const span = openSpan(ctx, 'model', 'openai:gpt-5', own)
  try {
    for await (const _ of handler.wrapModelCall?.(ctx, own, parts) ?? []);
    const message = { id: 'm1', role: 'assistant', content: 'The answer.' } as const
    span?.end({ message, usage: USAGE, finishReason: 'stop', model: 'openai:gpt-5-2026' })
  } catch (error) {
    span?.fail(error)
    throw error
  }
}

/** Calls a tool through the handler, as a chat agent does. */
export async function callTool(
  ctx: RunContext,
  { handler }: Otel,
  invoke: (ctx: RunContext) => Promise<string>,
): Promise<void> {
  const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
  const inner = ctx.derive({ step: 'tool:0:0', call })
  const input = { name: 'look', arguments: '{"at":"the secret"}', callId: 'c1', step: inner.step, idempotencyKey: 'k' }
  const span = openSpan(inner, 'tool', 'look', input)
  try {
    const result = await handler.wrapInvokableToolCall?.(inner, input, async () => ({ content: await invoke(inner) }))
    span?.end(result ?? { content: '' })
  } catch (error) {
    span?.fail(error)
    throw error
  }
}

/** An answer in parts. */
export async function* answer(): AsyncIterable<ModelPart> {
  yield { type: 'text-delta', delta: 'The ' }
  yield { type: 'text-delta', delta: 'answer.' }
  yield { type: 'finish', reason: 'stop', usage: USAGE }
}

/** An agent that calls a model, then perhaps a tool. */
export function worker(name: string, tracing: Otel, tool?: (ctx: RunContext) => Promise<string>): Agent {
  return {
    name,
    description: '',
    async *run(_input, ctx) {
      await callModel(ctx, tracing, answer)
      if (tool) await callTool(ctx, tracing, tool)
      yield* say(ctx, 'Done.')
    },
  }
}

/** A tool that runs an agent. */
export function delegate(agent: Agent): (ctx: RunContext) => Promise<string> {
  return async (ctx) => (await runNested(agent, 'Help.', ctx)).text
}
