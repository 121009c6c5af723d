import { useEffect, useRef } from 'react'
import type { Conversation } from '../talk/conversation.ts'
import { Lines } from './lines.tsx'

/** The conversation, set like the script of a play. */
export function Script({ conversation }: { readonly conversation: Conversation }) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const page = useRef<HTMLDivElement>(null)
  const { status, transcript } = conversation

  // Follows the text, and whatever else grows or takes room from it, while the reader is at its end.
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
      className="script"
      ref={box}
      role="log"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also without a mouse
      tabIndex={0}
      aria-busy={status === 'running'}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80
      }}
    >
      <h2 className="sr-only">Conversation</h2>
      <div className="script-page" ref={page}>
        <Lines items={transcript.items} conversation={conversation} />
        {status === 'running' && transcript.isQuiet && (
          <p className="working">
            <span className="sr-only">Working</span>
          </p>
        )}
      </div>
    </div>
  )
}
