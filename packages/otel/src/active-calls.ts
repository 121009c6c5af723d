import { context } from '@opentelemetry/api'
import { type AgentHandler, type ModelPart, type RunContext, type Sink, stream } from '@troupe/kernel'
import { pipe, sinkTo } from '@troupe/kernel/kit'
import type { Instruments } from './instruments.ts'
import type { OpenSpan } from './open-span.ts'
import type { OpenSpans } from './open-spans.ts'

/** Makes the handler that activates the span of a model or tool call while the call is under way. */
export function activeCalls(name: string, spans: OpenSpans, instruments: () => Instruments | undefined): AgentHandler {
  return {
    name,
    beforeAgent(ctx) {
      const agent = spans.find(ctx.session, ctx.runId, agentStepOf(ctx))
      if (agent) agent.handled = true
    },

    wrapModelCall(ctx, request, next) {
      const call = spans.find(ctx.session, ctx.runId, request.step)
      if (!call) return next(ctx, request)
      call.reached = true
      return stream((sink) => {
        const timed = timedBy(call, instruments(), sink)
        return context.with(call.context, () => pipe(next(ctx, request), timed))
      })
    },

    wrapInvokableToolCall(ctx, input, next) {
      const call = spans.find(ctx.session, ctx.runId, input.step)
      if (!call) return next(ctx, input)
      call.reached = true
      return context.with(call.context, next, undefined, ctx, input)
    },
  }
}

/** The step of the agent of a context, in its run. */
export function agentStepOf({ step }: RunContext): string {
  return step || 'agent'
}

/** Measures when the chunks of an answer come. */
function timedBy(call: OpenSpan, instruments: Instruments | undefined, sink: Sink<ModelPart>): Sink<ModelPart> {
  if (!instruments) return sink
  const { metrics } = call
  let last: number | undefined
  return sinkTo(sink, (part: ModelPart) => {
    if (call.firstPartMs === undefined && isOutput(part)) {
      call.firstPartMs = performance.now() - call.startedAt
      instruments.timeToFirstChunk.record(call.firstPartMs / 1000, metrics)
    }
    if (part.type === 'restart') last = undefined
    if (isChunk(part)) {
      const now = performance.now()
      if (last !== undefined) instruments.timePerOutputChunk.record((now - last) / 1000, metrics)
      last = now
    }
    return sink.write(part)
  })
}

function isOutput({ type }: ModelPart): boolean {
  return type !== 'finish' && type !== 'restart' && type !== 'part-end'
}

/** Whether a part is a piece of an answer, and not the beginning or the end of a call. */
function isChunk({ type }: ModelPart): boolean {
  return type === 'text-delta' || type === 'reasoning-delta' || type === 'tool-call-delta' || type === 'file'
}
