import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { type Agent, KernelError, say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { testCallback, testHandler } from '@troupe/testkit'
import { beforeAll, describe, expect, test } from 'vitest'
import { otel } from './index.ts'
import { callModel, callTool, delegate, followAwaits, tracedSetup, worker } from './otel.fixture.ts'

beforeAll(followAwaits)

testCallback('otel', () => otel())
testCallback('otel with an SDK', () => tracedSetup({ content: true, baggage: true }).tracing)
testHandler('the handler of otel', () => otel().handler)
testHandler('the handler of otel with an SDK', () => tracedSetup().tracing.handler)

const { OTEL_LINE = '2' } = process.env

test(`these tests run with an SDK of the ${OTEL_LINE}.x line`, async () => {
  const { tracing, spans } = tracedSetup()
  await startRun(worker('guide', tracing), 'Hi', { callbacks: [tracing] })
  const versions = new Set(spans().map(({ resource }) => String(resource.attributes['telemetry.sdk.version'])))
  expect([...versions]).toEqual([expect.stringMatching(`^${OTEL_LINE}\\.`)])
})

const settings = { runId: 'r1', session: { app: 'app', user: 'ann', threadId: 't1' } }

describe('a run', () => {
  test('is a tree of spans, with nested runs below the calls that made them', async () => {
    const { tracing, tree } = tracedSetup()
    const outer = worker('outer', tracing, delegate(worker('inner', tracing)))
    await startRun(outer, 'Hi', { ...settings, callbacks: [tracing] })
    expect(tree()).toEqual([
      'invoke_agent outer > chat gpt-5',
      'invoke_agent inner > chat gpt-5',
      'invoke_workflow inner > invoke_agent inner',
      'execute_tool look > invoke_workflow inner',
      'invoke_agent outer > execute_tool look',
      'invoke_workflow outer > invoke_agent outer',
      'invoke_workflow outer',
    ])
  })

  test('has the attributes of the conventions, and no word of the conversation', async () => {
    const { tracing, span, spans } = tracedSetup()
    await startRun(
      worker('guide', tracing, async () => 'the secret'),
      'the secret',
      { ...settings, callbacks: [tracing] },
    )
    const ids = { 'gen_ai.conversation.id': 't1', 'troupe.run.id': 'r1' }
    expect(span('invoke_workflow guide').attributes).toEqual({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'guide',
      ...ids,
    })
    expect(span('invoke_agent guide').attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'guide',
      ...ids,
    })
    expect(span('chat gpt-5')).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5',
        'gen_ai.request.temperature': 0,
        'gen_ai.response.model': 'gpt-5-2026',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 3,
        'gen_ai.usage.cache_read.input_tokens': 8,
        'gen_ai.usage.cache_creation.input_tokens': 2,
        'troupe.usage.cost': 0.5,
        'gen_ai.response.time_to_first_chunk': expect.any(Number),
        'gen_ai.agent.name': 'guide',
        ...ids,
      },
    })
    expect(span('execute_tool look').attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.agent.name': 'guide',
      ...ids,
    })
    expect(JSON.stringify(spans().map(({ attributes, events }) => [attributes, events]))).not.toContain('secret')
  })

  test('is a child of the span that is active where it is asked for, even if it is read elsewhere', async () => {
    const { tracing, provider, span } = tracedSetup()
    const request = provider.getTracer('http').startSpan('POST /')
    const run = context.with(trace.setSpan(ROOT_CONTEXT, request), () =>
      startRun(worker('guide', tracing), 'Hi', { callbacks: [tracing] }),
    )
    await run
    expect(span('invoke_workflow guide').parentSpanContext?.spanId).toBe(request.spanContext().spanId)
  })

  test('makes the spans of its model and tool calls active while they are under way', async () => {
    const { tracing, provider, tree } = tracedSetup()
    const tracer = provider.getTracer('http')
    const fetched = async () => tracer.startSpan('GET').end()
    const agent: Agent = {
      name: 'guide',
      description: '',
      async *run(_input, ctx) {
        await callModel(ctx, tracing, async function* () {
          await fetched()
          yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
        })
        await callTool(ctx, tracing, async () => {
          await fetched()
          return 'done'
        })
        await fetched()
      },
    }
    await startRun(agent, 'Hi', { callbacks: [tracing] })
    expect(tree().filter((line) => line.includes('GET'))).toEqual([
      'chat gpt-5 > GET',
      'execute_tool look > GET',
      'GET',
    ])
  })

  test('that fails says so by code, not by words', async () => {
    const { tracing, spans } = tracedSetup()
    const agent: Agent = {
      name: 'guide',
      description: '',
      async *run(_input, ctx) {
        await callTool(ctx, tracing, () => Promise.reject(new KernelError('TOOL_FAILED', 'no such secret')))
      },
    }
    await expect(Promise.resolve(startRun(agent, 'Hi', { callbacks: [tracing] }))).rejects.toThrow('no such secret')
    expect(spans().map(({ name, status, attributes }) => [name, status, attributes['error.type']])).toEqual(
      ['execute_tool look', 'invoke_agent guide', 'invoke_workflow guide'].map((name) => [
        name,
        { code: SpanStatusCode.ERROR, message: 'TOOL_FAILED' },
        'TOOL_FAILED',
      ]),
    )
    expect(JSON.stringify(spans().map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
      'secret',
    )
  })

  test('whose model fails says so by code, not by words', async () => {
    const { tracing, span, spans } = tracedSetup()
    const agent: Agent = {
      name: 'guide',
      description: '',
      async *run(_input, ctx) {
        await callModel(ctx, tracing, async function* () {
          yield { type: 'text-delta', delta: 'The ' }
          throw new KernelError('MODEL_FAILED', 'no answer to "the secret"')
        })
        yield* say(ctx, 'Done.')
      },
    }
    await expect(Promise.resolve(startRun(agent, 'Hi', { callbacks: [tracing] }))).rejects.toThrow('the secret')
    expect(span('chat gpt-5')).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'MODEL_FAILED' },
      attributes: { 'error.type': 'MODEL_FAILED', 'troupe.outcome': 'failed' },
    })
    expect(JSON.stringify(spans().map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
      'secret',
    )
  })

  test('that was cancelled is no error', async () => {
    const { tracing, spans } = tracedSetup()
    for await (const event of startRun(worker('guide', tracing), 'Hi', { callbacks: [tracing] })) {
      if (event.type === 'text-delta') break
    }
    expect(spans().map(({ name, status, attributes }) => [name, status.code, attributes['troupe.outcome']])).toEqual([
      ['chat gpt-5', SpanStatusCode.UNSET, undefined],
      ['invoke_agent guide', SpanStatusCode.UNSET, 'cancelled'],
      ['invoke_workflow guide', SpanStatusCode.UNSET, 'cancelled'],
    ])
  })
})
