import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** A span that counts how often it was ended. */
export interface CountedSpan {
  readonly name: string
  readonly spanId: string
  readonly attributes: Attributes
  readonly parent: CountedSpan | undefined
  /** The span above it, perhaps of another process. */
  readonly outer: SpanContext | undefined
  ends: number
  /** Whether its parent had ended when it began. */
  readonly late: boolean
}

/** A tracer provider that ends nothing by itself and forgives nothing. */
export class CountingTracer implements TracerProvider, Tracer {
  readonly spans: CountedSpan[] = []
  readonly #byId: Map<string, CountedSpan> = new Map()

  getTracer(): Tracer {
    return this
  }

  startSpan(name: string, options?: SpanOptions, context?: Context): Span {
    const spanId = randomBytes(8).toString('hex')
    const outer = context && trace.getSpanContext(context)
    const parent = outer && this.#byId.get(outer.spanId)
    const attributes = { ...options?.attributes }
    const late = parent !== undefined && parent.ends > 0
    const counted: CountedSpan = { name, spanId, attributes, parent, outer, ends: 0, late }
    this.spans.push(counted)
    this.#byId.set(spanId, counted)
    const traceId = outer?.traceId ?? randomBytes(16).toString('hex')
    const spanContext: SpanContext = { traceId, spanId, traceFlags: 1 }
    const span: Span = {
      spanContext: () => spanContext,
      setAttribute(name, value) {
        attributes[name] = value
        return span
      },
      setAttributes: () => span,
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus: () => span,
      updateName: () => span,
      end: () => void counted.ends++,
      isRecording: () => true,
      recordException: () => undefined,
    }
    return span
  }

  startActiveSpan(): never {
    throw new Error('not used')
  }
}

/** What is wrong with the spans of runs that have ended. */
export function wrongWith(spans: readonly CountedSpan[]): readonly string[] {
  return spans.flatMap(({ name, ends, late, parent }) => [
    ...(ends === 1 ? [] : [`${name} ended ${ends} times`]),
    ...(late && !goesOn(name, parent?.name) ? [`${name} began when ${parent?.name} had ended`] : []),
    ...(fits(name, parent?.name) ? [] : [`${name} is below ${parent?.name}`]),
  ])
}

/** Whether a run goes on from another one, which has ended. */
function goesOn(name: string, parent = ''): boolean {
  return [name, parent].every((run) => run.startsWith('invoke_workflow '))
}

const PARENTS: Readonly<Record<string, RegExp>> = {
  invoke_workflow: /^(?:execute_tool|invoke_workflow) |^none$/,
  invoke_agent: /^invoke_workflow /,
  chat: /^invoke_agent /,
  execute_tool: /^invoke_agent /,
}

function fits(name: string, parent = 'none'): boolean {
  return PARENTS[name.split(' ')[0] ?? '']?.test(parent) ?? false
}
