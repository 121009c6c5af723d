import { metrics, propagation, trace } from '@opentelemetry/api'
import { type Agent, KernelError, say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { testOptions } from '@troupe/testkit'
import { beforeAll, describe, expect, test } from 'vitest'
import { type OtelOptions, otel } from './index.ts'
import { callModel, callTool, followAwaits, tracedSetup, USAGE, worker } from './otel.fixture.ts'

beforeAll(followAwaits)

testOptions<OtelOptions>('otel', otel, {
  content: true,
  baggage: true,
  tracerProvider: trace.getTracerProvider(),
  meterProvider: metrics.getMeterProvider(),
})

const settings = { runId: 'r1', session: { app: 'app', user: 'ann', threadId: 't1' } }
const failing = (tracing: ReturnType<typeof otel>): Agent => ({
  name: 'guide',
  description: '',
  async *run(_input, ctx) {
    await callTool(ctx, tracing, () => Promise.reject(new KernelError('TOOL_FAILED', 'no'))).catch(() => undefined)
    yield* say(ctx, 'Sorry.')
  },
})

describe('what is measured', () => {
  test('are durations, tokens, the times of parts and the runs under way, without ids', async () => {
    const { tracing, metrics } = tracedSetup()
    await startRun(worker('guide', tracing), 'Hi', { ...settings, callbacks: [tracing] })
    const all = await metrics()
    const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' }
    const answered = { ...chat, 'gen_ai.response.model': 'gpt-5-2026' }
    const attributes = (name: string) => all[name]?.map((point) => point.attributes)
    expect(attributes('gen_ai.client.operation.duration')).toEqual([
      chat,
      { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'guide' },
      { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'guide' },
    ])
    expect(all['gen_ai.client.token.usage']).toMatchObject([
      { attributes: { ...answered, 'gen_ai.token.type': 'input' }, value: { sum: 12, count: 1 } },
      { attributes: { ...answered, 'gen_ai.token.type': 'output' }, value: { sum: 3, count: 1 } },
    ])
    expect(all['troupe.client.cached_tokens']).toEqual([
      { attributes: { ...answered, 'gen_ai.token.type': 'read' }, value: 8 },
      { attributes: { ...answered, 'gen_ai.token.type': 'write' }, value: 2 },
    ])
    expect(all['troupe.client.cost']).toEqual([{ attributes: answered, value: 0.5 }])
    expect(all['gen_ai.client.operation.time_to_first_chunk']).toMatchObject([
      { attributes: chat, value: { count: 1 } },
    ])
    expect(all['gen_ai.client.operation.time_per_output_chunk']).toMatchObject([{ value: { count: 1 } }])
    expect(all['troupe.run.active']).toEqual([{ attributes: { 'gen_ai.workflow.name': 'guide' }, value: 0 }])
    expect(all['troupe.tool.failures']).toBeUndefined()
  })

  test('are the times between pieces of an answer, not between the attempts to get it', async () => {
    const { tracing, metrics } = tracedSetup()
    const agent: Agent = {
      name: 'guide',
      description: '',
      async *run(_input, ctx) {
        await callModel(ctx, tracing, async function* () {
          yield { type: 'text-delta', delta: 'Let' }
          yield { type: 'restart' }
          yield { type: 'text-delta', delta: 'Let me' }
          yield { type: 'text-delta', delta: ' look.' }
          yield { type: 'part-end' }
          yield { type: 'tool-call-start', callId: 'c1', name: 'look' }
          yield { type: 'tool-call-delta', callId: 'c1', delta: '{}' }
          yield { type: 'tool-call-end', callId: 'c1' }
          yield { type: 'finish', reason: 'tool-calls', usage: USAGE }
        })
        yield* say(ctx, 'Done.')
      },
    }
    await startRun(agent, 'Hi', { callbacks: [tracing] })
    const all = await metrics()
    expect(all['gen_ai.client.operation.time_to_first_chunk']).toMatchObject([{ value: { count: 1 } }])
    expect(all['gen_ai.client.operation.time_per_output_chunk']).toMatchObject([{ value: { count: 2 } }])
  })

  test('are the failures of tools, also in a run that is complete', async () => {
    const { tracing, metrics } = tracedSetup()
    await startRun(failing(tracing), 'Hi', { callbacks: [tracing] })
    const all = await metrics()
    const failed = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look', 'error.type': 'TOOL_FAILED' }
    expect(all['troupe.tool.failures']).toEqual([{ attributes: failed, value: 1 }])
  })
})

describe('content', () => {
  const shown = async (content: OtelOptions['content'] & {}) => {
    const { tracing, span } = tracedSetup({ content })
    const agent = worker('guide', tracing, async () => 'seen')
    await startRun(agent, 'Hi', { callbacks: [tracing] })
    const { attributes: chat } = span('chat gpt-5')
    const { attributes: tool } = span('execute_tool look')
    return [
      chat['gen_ai.system_instructions'],
      chat['gen_ai.input.messages'],
      chat['gen_ai.output.messages'],
      tool['gen_ai.tool.call.arguments'],
      tool['gen_ai.tool.call.result'],
    ]
  }

  test('is in the form of the conventions', async () => {
    expect(await shown(true)).toEqual([
      '[{"type":"text","content":"Be secret."}]',
      '[{"role":"user","parts":[{"type":"text","content":"The secret."}]}]',
      '[{"role":"assistant","parts":[{"type":"text","content":"The answer."}],"finish_reason":"stop"}]',
      '{"at":"the secret"}',
      'seen',
    ])
  })

  test('goes through the redaction, which can leave a text out', async () => {
    const redacted = await shown((text, kind) => (kind === 'result' ? undefined : text.replace('secret', '…')))
    expect(redacted.slice(0, 2)).toEqual([
      '[{"type":"text","content":"Be …."}]',
      '[{"role":"user","parts":[{"type":"text","content":"The …."}]}]',
    ])
    expect(redacted.slice(3)).toEqual(['{"at":"the …"}', undefined])
  })

  test('is not shown where the redaction throws, and the spans end', async () => {
    const reports: string[] = []
    const content = () => {
      throw new Error('broken')
    }
    const { tracing, spans } = tracedSetup({ content })
    const report = ({ code }: KernelError) => void reports.push(code)
    await startRun(
      worker('guide', tracing, async () => 'seen'),
      'Hi',
      { callbacks: [tracing], report },
    )
    expect(spans().map(({ name }) => name)).toEqual([
      'chat gpt-5',
      'execute_tool look',
      'invoke_agent guide',
      'invoke_workflow guide',
    ])
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain('ecret')
    expect(reports).toEqual(['CALLBACK_FAILED'])
  })
})

test('the ids of a line in the log are those of the span at its step', async () => {
  const { tracing, span } = tracedSetup()
  const ids: unknown[] = []
  const agent: Agent = {
    name: 'guide',
    description: '',
    async *run(_input, ctx) {
      ids.push(tracing.idsOf(ctx))
      await callTool(ctx, tracing, async (inner) => {
        ids.push(tracing.idsOf(inner, 'tool:0:0'), tracing.idsOf(inner, 'tool:0:1'))
        return 'seen'
      })
      ids.push(tracing.idsOf(ctx, 'tool:0:0'))
    },
  }
  await startRun(agent, 'Hi', { callbacks: [tracing] })
  const idsOf = (name: string) => {
    const { traceId, spanId } = span(name).spanContext()
    return { traceId, spanId }
  }
  expect(ids).toEqual([idsOf('invoke_agent guide'), idsOf('execute_tool look'), undefined, undefined])
})

test.each([
  [true, 't1'],
  [false, undefined],
])('baggage %j: requests inside a call have the thread %j', async (baggage, thread) => {
  const { tracing } = tracedSetup({ baggage })
  const entries: unknown[] = []
  const look = async () => {
    entries.push(propagation.getActiveBaggage()?.getEntry('gen_ai.conversation.id')?.value)
    return 'seen'
  }
  await startRun(worker('guide', tracing, look), 'Hi', { ...settings, callbacks: [tracing] })
  expect(entries).toEqual([thread])
})

test('without an SDK nothing is observed, and nothing is in the way', async () => {
  const tracing = otel()
  const callbacks = [tracing]
  expect(Object.keys(tracing.forRun?.() ?? {})).toEqual(['name'])
  const { text } = await startRun(
    worker('guide', tracing, async () => 'seen'),
    'Hi',
    { callbacks },
  )
  expect(text).toBe('Done.')
})

test.each([
  [{ content: 'yes' }, 'otel: content must be true, false or a function that redacts a text, got "yes"'],
  [{ baggage: 1 }, 'otel: baggage must be true or false, got 1'],
])('refuses the options %j', (options, message) => {
  expect(() => otel(options as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message }))
})
