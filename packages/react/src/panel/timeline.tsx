import { type CSSProperties, memo, type ReactNode } from 'react'
import { type Run, type Span, sum, type Tokens, type TokensByMessage, tokensOf } from '../thread/run.ts'
import type { Thread } from '../thread/thread.ts'
import { useRunning } from '../thread/use-run.ts'
import type { Labels } from '../view/labels.ts'
import { useLabels } from '../view/use-labels.ts'

/** The props of `<Timeline>`. */
export interface TimelineProps {
  readonly thread: Pick<Thread, 'runs'>
  /** Tokens and costs by message, if the app has them: then each agent shows its own. @default those of each run */
  readonly tokens?: TokensByMessage | undefined
  /** The address of a trace, with `{traceId}` in it. @default none; the id is shown */
  readonly traceUrl?: string | undefined
  readonly labels?: Partial<Labels>
}

const NO_TOKENS: TokensByMessage = {}
const NOTHING: Tokens = { input: 0, output: 0 }

/**
 * The agents and tools of each run over time, with durations, tokens and costs; the newest run first.
 * @example const timeline = <Timeline thread={useThread({ url: '/agent', threadId })} />
 */
export function Timeline({ thread: { runs }, tokens = NO_TOKENS, traceUrl, ...props }: TimelineProps): ReactNode {
  const labels = useLabels(props.labels)
  if (runs.length === 0) return <p className="troupe-nothing">{labels.nothingRan}</p>
  const whole = runs.map((run) => spentIn(run, tokens)).reduce(sum, NOTHING)
  const views = runs.map((run, i) => (
    <RunView key={run.runId} run={run} number={i + 1} tokens={tokens} traceUrl={traceUrl} labels={labels} />
  ))
  return (
    <div className="troupe-timeline">
      {runs.length > 1 && whole.input + whole.output > 0 && (
        <p className="troupe-run-about">
          {labels.thisConversation}
          {spentText(whole, labels)}
        </p>
      )}
      {views.reverse()}
    </div>
  )
}

interface RunViewProps {
  readonly run: Run
  readonly number: number
  readonly tokens: TokensByMessage
  readonly traceUrl: string | undefined
  readonly labels: Labels
}

const RunView = memo(function RunView({ run: given, number, tokens, traceUrl, labels }: RunViewProps): ReactNode {
  const run = useRunning(given)
  const { spans, from, to, status, traceId } = run
  return (
    <section className="troupe-run" aria-label={labels.run(number)}>
      <header>
        <h2>{labels.run(number)}</h2>
        <p className="troupe-run-about">
          {labels.runStatus[status]} · {durationOf(to - from)}
          {spentText(spentIn(run, tokens), labels)}
        </p>
        {traceId !== undefined && <TraceId id={traceId} url={traceUrl} labels={labels} />}
      </header>
      <ol className="troupe-spans">
        {spans.map((span) => (
          <SpanView key={`${span.id} ${span.from}`} span={span} from={from} last={to} tokens={tokens} />
        ))}
      </ol>
    </section>
  )
})

function TraceId({ id, url, labels }: { id: string; url: string | undefined; labels: Labels }): ReactNode {
  if (url === undefined) return <code className="troupe-trace-id">{id}</code>
  return (
    <a className="troupe-trace-id" href={url.replaceAll('{traceId}', id)} target="_blank" rel="noreferrer">
      {labels.trace(id)}
    </a>
  )
}

interface SpanViewProps {
  readonly span: Span
  readonly from: number
  readonly last: number
  readonly tokens: TokensByMessage
}

function SpanView({ span, from, last, tokens }: SpanViewProps): ReactNode {
  const all = Math.max(1, last - from)
  const end = span.to ?? last
  const { input, output } = tokensOf([span], tokens)
  const bar = { left: `${((span.from - from) / all) * 100}%`, width: `${((end - span.from) / all) * 100}%` }
  const style = { '--troupe-depth': span.depth } as CSSProperties
  return (
    <li className="troupe-span" data-kind={span.kind} data-status={span.status} style={style}>
      <span className="troupe-span-name">{span.name}</span>
      <span className="troupe-span-time">
        {input + output > 0 && <small>{(input + output).toLocaleString()} tok</small>} {durationOf(end - span.from)}
      </span>
      <span className="troupe-span-track" aria-hidden="true">
        <span className="troupe-span-bar" style={bar} />
      </span>
    </li>
  )
}

/** The tokens of a run: those of its messages, or else those that it told when it ended. */
function spentIn({ spans, tokens: told = NOTHING }: Run, tokens: TokensByMessage): Tokens {
  const counted = tokensOf(spans, tokens)
  return counted.input + counted.output > 0 ? counted : told
}

function spentText({ input, output, cost }: Tokens, labels: Labels): string {
  if (input + output === 0) return ''
  const price = cost === undefined ? '' : ` · ${dollars(cost)}`
  return ` · ${labels.tokens(input.toLocaleString(), output.toLocaleString())}${price}`
}

function dollars(cost: number): string {
  const options = { style: 'currency', currency: 'USD', maximumFractionDigits: cost < 0.1 ? 4 : 2 } as const
  return cost.toLocaleString('en-US', options)
}

function durationOf(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
