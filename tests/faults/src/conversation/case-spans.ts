import { appendFileSync } from 'node:fs'
import { type Otel, otel } from '@troupe/otel'
import { type CountedSpan, CountingTracer, wrongWith } from '../../../integration/src/otel/counting-tracer.fixture.ts'

/** What a process tells of its spans. */
export type SpanLine =
  /** The span of a root run begins; `outer` is the span that it goes on from. */
  | { readonly runId: string; readonly threadId: string; readonly spanId: string; readonly outer?: string }
  /** No run of the process is left; this is wrong with its spans. */
  | { readonly spans: number; readonly wrong: readonly string[] }

/** Gives the file for the spans of a case, beside that for the effects of tools. */
export function spanFileOf(effects: string): string {
  return `${effects}.spans`
}

/** The spans of one process in one case: each is counted, and the processes tell each other nothing but what their store keeps. */
export class CaseSpans {
  readonly tracing: Otel
  readonly #tracer: CountingTracer
  readonly #file: string

  /** `effects` is the file for the effects of tools. */
  constructor(effects: string) {
    const file = spanFileOf(effects)
    this.#file = file
    this.#tracer = new TellingTracer((line) => tell(file, line))
    this.tracing = otel({ tracerProvider: this.#tracer })
  }

  /** Contract: no run of this process is left. */
  close(): void {
    const { spans } = this.#tracer
    const strange = spans.filter((span) => span.attributes['troupe.replayed'] && !goesOn(span))
    const wrong = [
      ...wrongWith(spans),
      ...strange.map(({ name }) => `${name} was done before, but its run goes on from none`),
    ]
    tell(this.#file, { spans: spans.length, wrong })
  }
}

class TellingTracer extends CountingTracer {
  readonly #tell: (line: SpanLine) => void

  constructor(tell: (line: SpanLine) => void) {
    super()
    this.#tell = tell
  }

  override startSpan(...args: Parameters<CountingTracer['startSpan']>): ReturnType<CountingTracer['startSpan']> {
    const span = super.startSpan(...args)
    const { name, attributes, spanId, parent, outer } = this.spans.at(-1) as CountedSpan
    if (isRun(name) && (!parent || isRun(parent.name))) {
      const runId = String(attributes['troupe.run.id'])
      const threadId = String(attributes['gen_ai.conversation.id'])
      this.#tell({ runId, threadId, spanId, ...(outer && { outer: outer.spanId }) })
    }
    return span
  }
}

function isRun(name: string): boolean {
  return name.startsWith('invoke_workflow ')
}

/** Contract: the line is in the file when this returns, even if the process is killed then. */
function tell(file: string, line: SpanLine): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

/** Whether a span belongs to a run that goes on: from one of another process, or below the span of one of this process. */
function goesOn({ name, outer, parent }: CountedSpan): boolean {
  if (isRun(name) && (outer !== undefined || (parent !== undefined && isRun(parent.name)))) return true
  return parent !== undefined && goesOn(parent)
}
