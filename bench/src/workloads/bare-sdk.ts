import {
  type Attributes,
  type Context,
  context,
  type Meter,
  ROOT_CONTEXT,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'

/** What an SDK gives for traces, and perhaps for metrics. */
export interface BareSdk {
  readonly tracer: Tracer
  readonly meter?: Meter
}

/** Makes the spans and measurements that `otel()` makes of a run, and nothing else: what of its cost is the SDK's own. */
export function bareSdk({ tracer, meter }: BareSdk, turns: number): () => Promise<void> {
  const duration = meter?.createHistogram('duration')
  const tokens = meter?.createHistogram('tokens')
  const firstChunk = meter?.createHistogram('first chunk')
  const active = meter?.createUpDownCounter('active')
  let runs = 0

  /** A span with its measurement, active while the work goes on. */
  async function spanned(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    outer: Context,
    work: (inner: Context, end: (more: Attributes) => void) => Promise<void>,
  ): Promise<void> {
    const startedAt = performance.now()
    const span = tracer.startSpan(name, { kind, attributes }, outer)
    const inner = trace.setSpan(outer, span)
    await context.with(inner, () => work(inner, (more) => span.setAttributes(more)))
    duration?.record((performance.now() - startedAt) / 1000, { operation: name, name })
    span.end()
  }

  return async () => {
    const ids = { 'gen_ai.conversation.id': 'thread', 'troupe.run.id': `run ${++runs}` }
    const named = (operation: string, of: string) => ({ 'gen_ai.operation.name': operation, [of]: 'a', ...ids })
    const model = {
      ...named('chat', 'gen_ai.agent.name'),
      'gen_ai.provider.name': 'bench',
      'gen_ai.request.model': 'm',
    }
    const chat = { operation: 'chat', provider: 'bench', model: 'm' }
    const call = {
      ...named('execute_tool', 'gen_ai.agent.name'),
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
    }
    const answered = {
      'gen_ai.response.model': 'm',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 1,
      'gen_ai.response.time_to_first_chunk': 0.1,
    }
    active?.add(1, { name: 'a' })
    await spanned('invoke_workflow a', SpanKind.INTERNAL, named('run', 'gen_ai.workflow.name'), ROOT_CONTEXT, (run) =>
      spanned('invoke_agent a', SpanKind.INTERNAL, named('agent', 'gen_ai.agent.name'), run, async (agent) => {
        for (let turn = 0; turn < turns; turn++) {
          await spanned('chat m', SpanKind.CLIENT, model, agent, async (_, end) => {
            firstChunk?.record(0.1, chat)
            for (const type of ['input', 'output']) tokens?.record(1, { ...chat, response: 'm', type })
            end(answered)
          })
          if (turn === turns - 1) break
          await spanned(
            'execute_tool look',
            SpanKind.INTERNAL,
            { ...call, 'gen_ai.tool.call.id': `c${turn}` },
            agent,
            async () => {},
          )
        }
      }),
    )
    active?.add(-1, { name: 'a' })
  }
}
