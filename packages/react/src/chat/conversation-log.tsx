import { type ReactNode, useEffect, useRef } from 'react'
import type { Item } from '../thread/item.ts'
import { useConversation, useShownThread } from './conversation-context.ts'
import { ItemList } from './item-list.tsx'
import { OpenQuestions } from './open-questions.tsx'

/** How near to its end a reader is who follows the conversation, in pixels. */
const NEAR = 80

/** The conversation as a log that scrolls. Contract: follows its end as long as the reader is there. */
export function ConversationLog(): ReactNode {
  const { labels, components } = useConversation()
  const { status, items } = useShownThread()
  const box = useRef<HTMLDivElement>(null)
  const page = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)

  useEffect(() => {
    const follow = () => {
      if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
    }
    const observer = new ResizeObserver(follow)
    if (page.current) observer.observe(page.current)
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])

  const { AnswerActions } = components
  return (
    <div
      className="troupe-log"
      ref={box}
      role="log"
      aria-label={labels.conversation}
      // The announcer says what is new, and not each word of it.
      aria-live="off"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it must scroll with the keyboard too
      tabIndex={0}
      aria-busy={status === 'running'}
      data-status={status}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR
      }}
    >
      <h2 className="troupe-hidden">{labels.conversation}</h2>
      <div className="troupe-page" ref={page}>
        <ItemList items={items} />
        <OpenQuestions />
        <Recovery />
        {status === 'idle' && items.at(-1)?.kind === 'text' && <AnswerActions />}
        {status === 'running' && isQuiet(items) && (
          <p className="troupe-working">
            <span className="troupe-hidden">{labels.working}</span>
          </p>
        )}
      </div>
    </div>
  )
}

/** What a person can do about a failure. */
function Recovery(): ReactNode {
  const { labels, actions, focusComposer } = useConversation()
  const { recovery } = useShownThread()
  if (!recovery) return null
  return (
    <p className="troupe-recovery">
      <button
        type="button"
        className="troupe-primary"
        onClick={() => {
          void actions[recovery]()
          focusComposer()
        }}
      >
        {recovery === 'continue' ? labels.continue : labels.tryAgain}
      </button>
    </p>
  )
}

/** Whether neither a text nor a call is in progress, so that nothing shows that the run continues. */
function isQuiet(items: readonly Item[]): boolean {
  const last = items.at(-1)
  if (last?.kind === 'text') return last.done
  return last?.kind !== 'call' || last.status !== 'running'
}
