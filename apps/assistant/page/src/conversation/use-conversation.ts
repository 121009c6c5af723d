import { useEffect, useState, useSyncExternalStore } from 'react'
import { Conversation } from './conversation.ts'

/** The conversation of a thread, open while it is shown; renders after each change. */
export function useConversation(threadId: string): Conversation | undefined {
  const [conversation, setConversation] = useState<Conversation>()
  useEffect(() => {
    const next = new Conversation(threadId)
    setConversation(next)
    void next.open()
    return () => next.close()
  }, [threadId])
  useSyncExternalStore(conversation?.subscribe ?? nothing, () => conversation?.version ?? 0)
  return conversation?.threadId === threadId ? conversation : undefined
}

function nothing(): () => void {
  return () => undefined
}
