import { useEffect, useRef } from 'react'
import type { Conversation } from '../conversation/conversation.ts'
import { ItemList } from './item-list.tsx'

/** The conversation as a scrollable log. */
export function ChatLog({ conversation }: { readonly conversation: Conversation }) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const page = useRef<HTMLDivElement>(null)
  const { status, transcript } = conversation

  // Keeps the end visible while the log grows or shrinks, as long as the reader is at the end.
  useEffect(() => {
    const follow = () => {
      if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
    }
    const observer = new ResizeObserver(follow)
    if (page.current) observer.observe(page.current)
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])

  return (
    <div
      className="chat-log"
      ref={box}
      role="log"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it must scroll with the keyboard too
      tabIndex={0}
      aria-busy={status === 'running'}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80
      }}
    >
      <h2 className="sr-only">Conversation</h2>
      <div className="chat-log-page" ref={page}>
        <ItemList items={transcript.items} conversation={conversation} />
        {status === 'idle' && conversation.lostRunId !== undefined && (
          <p className="lost-run">
            <button type="button" className="primary" onClick={() => void conversation.continue()}>
              Continue
            </button>
          </p>
        )}
        {status === 'running' && transcript.isQuiet && (
          <p className="working">
            <span className="sr-only">Working</span>
          </p>
        )}
      </div>
    </div>
  )
}
