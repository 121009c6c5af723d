import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type LogLine, logging } from '@troupe/handlers'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { otel } from '@troupe/otel'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

test('each line of the log has the ids of its span', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracing = otel({ tracerProvider })
  const lines: LogLine[] = []
  const log = logging({ log: (line) => void lines.push(line), trace: tracing.idsOf })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    invoke: () => 'seen',
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.'])
  const agent = chatModelAgent({ name: 'guide', model, tools: [look], handlers: [tracing.handler, log] })
  const session = { app: 'test', user: 'ann', threadId: 't1' }
  await runner({ agent, store: memoryStore(), callbacks: [tracing] }).query('Look.', { session })
  const spans = exporter.getFinishedSpans()
  const named = (name: string) =>
    spans.filter((span) => span.name.startsWith(name)).map((span) => span.spanContext().spanId)
  const [agentSpan] = named('invoke_agent')
  const [firstChat, secondChat] = named('chat')
  expect(lines.map(({ event, spanId }) => [event, spanId])).toEqual([
    ['agent-start', agentSpan],
    ['model-call', firstChat],
    ['tool-call', ...named('execute_tool')],
    ['model-call', secondChat],
    ['agent-end', agentSpan],
  ])
  const traceIds = [...lines.map(({ traceId }) => traceId), ...spans.map((span) => span.spanContext().traceId)]
  expect(new Set(traceIds).size).toBe(1)
})
