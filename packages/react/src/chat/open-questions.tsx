import type { ReactNode } from 'react'
import type { Item } from '../thread/item.ts'
import { useConversation, useShownThread } from './conversation-context.ts'

/** Questions that no call on the page asks: those of agents and handlers, and of sub-agents whose work is not in the history. */
export function OpenQuestions(): ReactNode {
  const { Question } = useConversation().components
  const { status, questions, items } = useShownThread()
  if (status !== 'idle' || questions.length === 0) return null
  return questions
    .filter(({ toolCallId }) => toolCallId === undefined || !hasCall(items, toolCallId))
    .map((question) => <Question key={question.id} question={question} />)
}

function hasCall(items: readonly Item[], callId: string): boolean {
  return items.some((item) => item.kind === 'call' && (item.id === callId || hasCall(item.inside ?? [], callId)))
}
