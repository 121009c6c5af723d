import { useEffect, useState, useSyncExternalStore } from 'react'
import { Conversation } from './conversation.ts'

/** The conversation of a thread, opened as long as it is shown; renders with each change. */
export function useConversation(threadId: string): Conversation | undefined {
  const [conversation, setConversation] = useState<Conversation>()
  useEffect(() => {
    const next = new Conversation(threadId)
    setConversation(next)
    void next.open()
    return () => next.leave()
  }, [threadId])
  useSyncExternalStore(conversation?.subscribe ?? nothing, () => conversation?.version ?? 0)
  return conversation?.threadId === threadId ? conversation : undefined
}

function nothing(): () => void {
  return () => undefined
}
