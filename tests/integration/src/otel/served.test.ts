import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { otel } from '@troupe/otel'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

test('a run that a request over AG-UI asks for is below the span of the request', async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracing = otel({ tracerProvider })
  const agent = chatModelAgent({ name: 'guide', model: scriptedModel(['Hi.']), handlers: [tracing.handler] })
  const store = memoryStore()
  const owner = { app: 'test', user: 'ann' }
  const handler = agUiHandler({ runner: runner({ agent, store, callbacks: [tracing] }), store, owner })
  const span = tracerProvider.getTracer('http').startSpan('POST /')
  const input = {
    threadId: 't1',
    runId: 'r1',
    messages: [{ id: 'u1', role: 'user', content: 'Hi' }],
    tools: [],
    context: [],
    state: {},
  }
  const request = new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(input),
  })
  const response = await context.with(trace.setSpan(ROOT_CONTEXT, span), () => handler(request))
  expect(await response.text()).toContain('RUN_FINISHED')
  const run = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_workflow guide')
  expect(run?.parentSpanContext?.spanId).toBe(span.spanContext().spanId)
})
