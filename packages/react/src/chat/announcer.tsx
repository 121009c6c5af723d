import type { ReactNode } from 'react'
import { useConversation, useShownThread } from './conversation-context.ts'

/** Tells a screen reader what is new: that the agents work, then each answer as a whole, and that there is a question. */
export function Announcer(): ReactNode {
  const { labels } = useConversation()
  const { status, items, questions } = useShownThread()
  const last = items.findLast((item) => item.kind !== 'call')
  const isDone = last?.kind === 'text' && last.done
  const says = questions.length > 0 ? labels.question : isDone ? `${last.agent}: ${last.text}` : labels.working
  const isSilent = status === 'loading' || (status === 'idle' && !isDone && questions.length === 0)
  return (
    <p className="troupe-hidden" role="status">
      {isSilent ? '' : says}
    </p>
  )
}
