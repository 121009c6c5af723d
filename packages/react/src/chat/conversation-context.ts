import type { Interrupt } from '@ag-ui/client'
import { type Context, createContext, type RefObject, useContext } from 'react'
import type { Thread, ThreadActions } from '../thread/thread.ts'
import type { Labels } from '../view/labels.ts'
import type { ConversationComponents } from './components.ts'

/** What the parts of a conversation share. */
export interface ConversationParts {
  readonly actions: ThreadActions
  readonly labels: Labels
  readonly components: ConversationComponents
  readonly composer: RefObject<HTMLTextAreaElement | null>
  /** Moves the focus to the message box, after something that had it is gone. Contract: not on a touch screen, where it would open the keyboard. */
  readonly focusComposer: () => void
}

export const PartsContext: Context<ConversationParts | undefined> = createContext<ConversationParts | undefined>(
  undefined,
)

/** The thread as it is now, which changes while it streams. */
export const ThreadContext: Context<Thread | undefined> = createContext<Thread | undefined>(undefined)

/** The open questions, by the call that asks. */
export const QuestionsContext: Context<ReadonlyMap<string, Interrupt>> = createContext<ReadonlyMap<string, Interrupt>>(
  new Map(),
)

/**
 * What the parts of a conversation share, for a component of your own in `components`.
 * @example const { actions, labels } = useConversation()
 */
export function useConversation(): ConversationParts {
  const parts = useContext(PartsContext)
  if (!parts) throw new Error('useConversation: this component must be inside <Conversation> or <ConversationProvider>')
  return parts
}

/** The thread as it is now. */
export function useShownThread(): Thread {
  const thread = useContext(ThreadContext)
  if (!thread) throw new Error('this component must be inside <Conversation> or <ConversationProvider>')
  return thread
}
