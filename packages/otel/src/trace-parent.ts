import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import type { Json } from '@troupe/kernel'

const TRACE_PARENT = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/

/** Writes a span context as JSON, in the words of W3C Trace Context; undefined for one that is not valid. */
export function toTraceParent(span: SpanContext): Json | undefined {
  if (!isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0')
  const tracestate = span.traceState?.serialize()
  return { traceparent: `00-${span.traceId}-${span.spanId}-${flags}`, ...(tracestate && { tracestate }) }
}

/** Reads what `toTraceParent` has written; undefined for anything else. */
export function fromTraceParent(kept: unknown): SpanContext | undefined {
  const { traceparent, tracestate } = Object(kept) as { readonly traceparent?: unknown; readonly tracestate?: unknown }
  const [, traceId, spanId, flags] = typeof traceparent === 'string' ? (TRACE_PARENT.exec(traceparent) ?? []) : []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const span: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(span) ? span : undefined
}
