import { type ReactNode, useState } from 'react'
import { Icon } from '../view/icon.tsx'
import type { Labels } from '../view/labels.ts'
import { useLabels } from '../view/use-labels.ts'
import type { ThreadSummary } from './thread-summary.ts'
import type { Threads } from './use-threads.ts'

/** The props of `<ThreadList>`. */
export interface ThreadListProps {
  readonly threads: Threads
  /** The id of the conversation that is shown. */
  readonly current: string | undefined
  /** Opens a conversation, or a new one if there is no id. */
  readonly onChoose: (threadId?: string) => void
  /** Called when another conversation than the current one was deleted, whose button had the focus. */
  readonly onRemoved?: (threadId: string) => void
  /** Whether a person can rename conversations. @default true */
  readonly canRename?: boolean
  readonly labels?: Partial<Labels>
}

/**
 * The conversations of a user, to open, rename and delete.
 * @example const list = <ThreadList threads={useThreads({ url })} current={threadId} onChoose={(id) => console.log(id)} />
 */
export function ThreadList(props: ThreadListProps): ReactNode {
  const { threads, current, onChoose, onRemoved, canRename = true } = props
  const labels = useLabels(props.labels)
  const [renaming, rename] = useState<string>()
  const nameOf = ({ title }: ThreadSummary) => title || labels.untitled
  const remove = async (thread: ThreadSummary) => {
    const { threadId } = thread
    if (!window.confirm(labels.deleteReally(nameOf(thread))) || !(await threads.remove(threadId))) return
    if (threadId === current) onChoose()
    else onRemoved?.(threadId)
  }
  return (
    <nav className="troupe-threads" aria-label={labels.conversations}>
      <button type="button" className="troupe-new" onClick={() => onChoose()}>
        <Icon name="plus" /> {labels.newConversation}
      </button>
      <ul>
        {threads.list.map((thread) => {
          const { threadId } = thread
          const isCurrent = threadId === current
          if (threadId === renaming) {
            return (
              <li key={threadId} className="troupe-thread" data-current={isCurrent || undefined}>
                <RenameForm
                  title={thread.title ?? ''}
                  label={labels.rename(nameOf(thread))}
                  onDone={(title) => {
                    rename(undefined)
                    if (title !== undefined) void threads.rename(threadId, title)
                  }}
                />
              </li>
            )
          }
          return (
            <li key={threadId} className="troupe-thread" data-current={isCurrent || undefined}>
              <button
                type="button"
                className="troupe-open"
                aria-current={isCurrent ? 'page' : undefined}
                onClick={() => onChoose(threadId)}
              >
                <span className="troupe-title" title={thread.title}>
                  {nameOf(thread)}
                </span>
                <span className="troupe-about">{aboutOf(thread, labels)}</span>
              </button>
              <span className="troupe-thread-actions">
                {canRename && (
                  <button
                    type="button"
                    className="troupe-quiet"
                    aria-label={labels.rename(nameOf(thread))}
                    onClick={() => rename(threadId)}
                  >
                    <Icon name="edit" />
                  </button>
                )}
                <button
                  type="button"
                  className="troupe-quiet"
                  aria-label={labels.delete(nameOf(thread))}
                  onClick={() => void remove(thread)}
                >
                  <Icon name="close" />
                </button>
              </span>
            </li>
          )
        })}
      </ul>
      {threads.more && (
        <button type="button" className="troupe-quiet troupe-older" onClick={threads.more}>
          {labels.older}
        </button>
      )}
    </nav>
  )
}

interface RenameFormProps {
  readonly title: string
  readonly label: string
  readonly onDone: (title?: string) => void
}

function RenameForm({ title, label, onDone }: RenameFormProps): ReactNode {
  const [text, setText] = useState(title)
  return (
    <form
      className="troupe-rename"
      onSubmit={(event) => {
        event.preventDefault()
        onDone(text.trim())
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to write here
        autoFocus
        value={text}
        maxLength={500}
        aria-label={label}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => onDone()}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          event.stopPropagation()
          onDone()
        }}
      />
    </form>
  )
}

function aboutOf({ status, updatedAt }: ThreadSummary, labels: Labels): string {
  if (status === 'running') return labels.running
  if (status === 'broke-off') return labels.brokeOff
  return status === 'waiting' ? labels.waitsForYou : when(updatedAt)
}

function when(time: number): string {
  const date = new Date(time)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday
    ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
    : date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}
