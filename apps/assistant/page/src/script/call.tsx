import type { ReactNode } from 'react'
import type { Conversation } from '../talk/conversation.ts'
import { argsOf, type CallItem } from '../talk/items.ts'
import { Approval } from './approval.tsx'
import { isPostcard, PostcardView } from './postcard.tsx'

const WORDS: Record<CallItem['status'], string> = {
  running: 'at work',
  waiting: 'waits',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
}

interface CallProps {
  readonly call: CallItem
  readonly conversation: Conversation
  /** What goes on inside, where it is a sub-agent. */
  readonly children?: ReactNode
}

/** A call of a tool: a question first if it needs one, then what it was given and gave back; a sub-agent plays inside. */
export function Call({ call, conversation, children }: CallProps) {
  const { id, name, status, result, data } = call
  const question = conversation.questions.find(({ toolCallId }) => toolCallId === id)
  if (question && conversation.status === 'idle') {
    return <Approval key={question.id} question={question} call={call} conversation={conversation} />
  }
  if (children) return <SubAgent call={call}>{children}</SubAgent>
  if (status === 'done' && isPostcard(data)) return <PostcardView postcard={data} />
  return (
    <details className="call" data-status={status}>
      <summary>
        <Status status={status} />
        <code>{name}</code>
        <span className="call-about">{inBrief(call)}</span>
      </summary>
      <pre>{JSON.stringify(argsOf(call.args), null, 2)}</pre>
      {result !== undefined && <pre>{result}</pre>}
    </details>
  )
}

function SubAgent({ call, children }: Omit<CallProps, 'conversation'>) {
  const { name, status } = call
  return (
    <section className="sub-agent" data-status={status} aria-label={`${name} at work`}>
      <header>
        <Status status={status} />
        <h3 className="speaker">{name}</h3>
        <p>{inBrief(call)}</p>
      </header>
      <div className="sub-agent-lines">{children}</div>
    </section>
  )
}

function Status({ status }: { readonly status: CallItem['status'] }) {
  return (
    <span className="status" data-status={status}>
      <span className="sr-only">{WORDS[status]}</span>
    </span>
  )
}

function inBrief({ args, status, result }: CallItem): string {
  if (status === 'failed' || status === 'stopped') return result ?? WORDS[status]
  return Object.values(argsOf(args)).flat().map(briefly).join(', ')
}

function briefly(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
