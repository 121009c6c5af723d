import { focusComposer } from '../chat/composer.tsx'
import { deleteThread, type ThreadSummary } from '../conversation/server.ts'
import { Icon } from './icons.tsx'
import type { Threads } from './use-threads.ts'

interface ThreadListProps {
  /** Whether something covers it. */
  readonly isInert: boolean
  readonly threads: Threads
  readonly current: string
  /** The title of the current conversation, which the server may not know yet. */
  readonly title: string | undefined
  readonly onChoose: (threadId?: string) => void
}

/** The list of conversations, newest first. */
export function ThreadList({ isInert, threads, current, title, onChoose }: ThreadListProps) {
  const { list, refresh, more } = threads
  const remove = async ({ threadId, title: name }: ThreadSummary) => {
    if (!confirm(`Delete “${name || 'Untitled'}”?`) || !(await deleteThread(threadId))) return
    if (threadId === current) onChoose()
    else focusComposer()
    refresh()
  }
  return (
    <nav className="threads" aria-label="Conversations" inert={isInert}>
      <button type="button" className="new-thread" onClick={() => onChoose()}>
        <Icon name="plus" /> New conversation
      </button>
      <ul>
        {list.map((thread) => (
          <li key={thread.threadId} className="thread" data-current={thread.threadId === current}>
            <button
              type="button"
              className="thread-open"
              aria-current={thread.threadId === current ? 'page' : undefined}
              onClick={() => onChoose(thread.threadId)}
            >
              <span className="thread-title" title={thread.title}>
                {thread.title || (thread.threadId === current && title) || 'Untitled'}
              </span>
              <span className="thread-about">{aboutOf(thread)}</span>
            </button>
            <button
              type="button"
              className="quiet thread-delete"
              aria-label={`Delete ${thread.title || 'Untitled'}`}
              onClick={() => remove(thread)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {more && (
        <button type="button" className="quiet older" onClick={more}>
          Older conversations
        </button>
      )}
    </nav>
  )
}

function aboutOf({ running, brokeOff, waiting, updatedAt }: ThreadSummary): string {
  if (running) return 'running'
  if (brokeOff) return 'broke off'
  return waiting ? 'waits for you' : when(updatedAt)
}

function when(time: number): string {
  const date = new Date(time)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday
    ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
    : date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}
