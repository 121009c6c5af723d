import type { ReactNode } from 'react'
import type { Conversation } from '../conversation/conversation.ts'
import { argsOf, type CallItem } from '../conversation/items.ts'
import { Approval } from './approval.tsx'
import { isPostcard, PostcardView } from './postcard.tsx'
import { QuestionForm } from './question-form.tsx'

const LABELS: Record<CallItem['status'], string> = {
  running: 'running',
  waiting: 'waits',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
}

interface CallProps {
  readonly call: CallItem
  readonly conversation: Conversation
  /** The items of a sub-agent. */
  readonly children?: ReactNode
}

/** A tool call: its question if there is one, otherwise its arguments and result, or the items of its sub-agent. */
export function Call({ call, conversation, children }: CallProps) {
  const { id, name, status, result, progress, data } = call
  const question = conversation.questions.find(({ toolCallId }) => toolCallId === id)
  if (question && conversation.status === 'idle') {
    const Question = question.reason === 'tool_call' ? Approval : QuestionForm
    return <Question key={question.id} question={question} call={call} conversation={conversation} />
  }
  if (children) return <SubAgent call={call}>{children}</SubAgent>
  if (status === 'done' && isPostcard(data)) return <PostcardView postcard={data} />
  return (
    <details className="call" data-status={status}>
      <summary>
        <Status status={status} />
        <code>{name}</code>
        <span className="call-about">{summaryOf(call)}</span>
      </summary>
      <pre>{JSON.stringify(argsOf(call.args), null, 2)}</pre>
      {progress !== undefined && <pre>{progress}</pre>}
      {result !== undefined && <pre>{result}</pre>}
    </details>
  )
}

function SubAgent({ call, children }: Omit<CallProps, 'conversation'>) {
  const { name, status } = call
  return (
    <section className="sub-agent" data-status={status} aria-label={`${name} run`}>
      <header>
        <Status status={status} />
        <h3 className="author">{name}</h3>
        <p>{summaryOf(call)}</p>
      </header>
      <div className="sub-agent-items">{children}</div>
    </section>
  )
}

function Status({ status }: { readonly status: CallItem['status'] }) {
  return (
    <span className="status" data-status={status}>
      <span className="sr-only">{LABELS[status]}</span>
    </span>
  )
}

function summaryOf({ args, status, progress, result }: CallItem): string {
  if (status === 'running' && progress !== undefined) return progress.trim().split('\n').at(-1) ?? ''
  if (status === 'failed' || status === 'stopped') return result ?? LABELS[status]
  return Object.values(argsOf(args)).flat().map(toText).join(', ')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
