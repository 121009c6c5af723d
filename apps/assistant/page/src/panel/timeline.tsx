import type { Tokens } from '../conversation/server.ts'
import { type RunTrace, type Span, type Trace, tokensOf } from '../conversation/trace.ts'

const OUTCOMES: Record<RunTrace['outcome'], string> = {
  running: 'running',
  done: 'complete',
  waits: 'waits',
  stopped: 'stopped',
  failed: 'failed',
}

interface TimelineProps {
  readonly trace: Trace
  readonly tokens: Tokens
  /** The address of a trace, with `{traceId}` in it. */
  readonly traceUrl: string | undefined
}

/** The agents and tools of each run over time, with durations, tokens and costs. */
export function Timeline({ trace, ...shown }: TimelineProps) {
  if (trace.runs.length === 0) return <p className="empty">Nothing has run yet.</p>
  const whole = tokensOf(
    trace.runs.flatMap(({ spans }) => spans),
    shown.tokens,
  )
  return (
    <>
      {trace.runs.length > 1 && <p className="run-about">This conversation{spentOf(whole)}</p>}
      {trace.runs.map((run, i) => <RunView key={run.runId} run={run} number={i + 1} {...shown} />).reverse()}
    </>
  )
}

interface RunViewProps extends Omit<TimelineProps, 'trace'> {
  readonly run: RunTrace
  readonly number: number
}

function RunView({ run, number, tokens, traceUrl }: RunViewProps) {
  const { spans, from, to, outcome, traceId } = run
  const spent = spentOf(tokensOf(spans, tokens))
  return (
    <section className="run" aria-label={`Run ${number}`}>
      <header>
        <h2>Run {number}</h2>
        <p className="run-about">
          {OUTCOMES[outcome]} · {durationOf(to - from)}
          {spent}
        </p>
        {traceId !== undefined && <TraceId id={traceId} url={traceUrl} />}
      </header>
      <ol className="spans">
        {spans.map((span) => (
          <SpanView key={`${span.id} ${span.from}`} span={span} from={from} last={to} tokens={tokens} />
        ))}
      </ol>
    </section>
  )
}

function TraceId({ id, url }: { id: string; url: string | undefined }) {
  if (url === undefined) return <code className="trace-id">{id}</code>
  return (
    <a className="trace-id" href={url.replaceAll('{traceId}', id)} target="_blank" rel="noreferrer">
      Trace {id}
    </a>
  )
}

function SpanView({ span, from, last, tokens }: { span: Span; from: number; last: number; tokens: Tokens }) {
  const all = Math.max(1, last - from)
  const end = span.to ?? last
  const { input, output } = tokensOf([span], tokens)
  const style = { left: `${((span.from - from) / all) * 100}%`, width: `${((end - span.from) / all) * 100}%` }
  return (
    <li className="span" data-kind={span.kind} data-status={span.status} style={{ '--depth': span.depth } as object}>
      <span className="span-name">{span.name}</span>
      <span className="span-time">
        {input + output > 0 && <small>{(input + output).toLocaleString()} tok</small>} {durationOf(end - span.from)}
      </span>
      <span className="span-track" aria-hidden="true">
        <span className="span-bar" style={style} />
      </span>
    </li>
  )
}

/** The tokens of something and what they cost, after what it is. */
function spentOf({ input, output, cost }: ReturnType<typeof tokensOf>): string {
  if (input + output === 0) return ''
  const price = cost === undefined ? '' : ` · ${dollars(cost)}`
  return ` · ${input.toLocaleString()} tokens in, ${output.toLocaleString()} out${price}`
}

function dollars(cost: number): string {
  const options = { style: 'currency', currency: 'USD', maximumFractionDigits: cost < 0.1 ? 4 : 2 } as const
  return cost.toLocaleString('en-US', options)
}

function durationOf(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
