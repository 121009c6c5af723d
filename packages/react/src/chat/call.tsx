import type { ReactNode } from 'react'
import { argsOf } from '../thread/args-of.ts'
import type { CallItem } from '../thread/item.ts'
import type { CallProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** A tool call with its arguments and its result, or with the work of its sub-agent. */
export function Call({ item, children }: CallProps): ReactNode {
  const { labels } = useConversation()
  const { name, status, result, progress } = item
  if (children) {
    return (
      <section className="troupe-sub-agent" data-status={status} aria-label={labels.runOf(name)}>
        <header>
          <Status status={status} />
          <h3 className="troupe-author">{name}</h3>
          <p>{summaryOf(item, labels.call[status])}</p>
        </header>
        <div className="troupe-inside">{children}</div>
      </section>
    )
  }
  return (
    <details className="troupe-call" data-status={status}>
      <summary>
        <Status status={status} />
        <code>{name}</code>
        <span className="troupe-call-about">{summaryOf(item, labels.call[status])}</span>
      </summary>
      <pre>{JSON.stringify(argsOf(item), null, 2)}</pre>
      {progress !== undefined && <pre>{progress}</pre>}
      {result !== undefined && <pre>{result}</pre>}
    </details>
  )
}

function Status({ status }: Pick<CallItem, 'status'>): ReactNode {
  const { labels } = useConversation()
  return (
    <span className="troupe-status" data-status={status}>
      <span className="troupe-hidden">{labels.call[status]}</span>
    </span>
  )
}

function summaryOf(item: CallItem, label: string): string {
  const { status, progress, result } = item
  if (status === 'running' && progress !== undefined) return progress.trim().split('\n').at(-1) ?? ''
  if (status === 'failed' || status === 'stopped') return result ?? label
  return Object.values(argsOf(item)).flat().map(toText).join(', ')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
