import type { ReactNode } from 'react'
import { Composer, type ComposerProps } from './composer.tsx'
import { ConversationLog } from './conversation-log.tsx'
import { ConversationProvider, type ConversationProviderProps } from './conversation-provider.tsx'

/** The props of `<Conversation>`. */
export interface ConversationProps extends Omit<ConversationProviderProps, 'children'>, ComposerProps {
  /** What is shown instead of a conversation that has not begun. @default nothing */
  readonly empty?: ReactNode
  /** What is shown above the message box, such as suggestions. @default nothing */
  readonly aboveComposer?: ReactNode
  readonly className?: string
}

/**
 * A conversation: what was said and done, the open questions, and the message box.
 * @example const chat = <Conversation thread={useThread({ url: '/agent', threadId })} />
 */
export function Conversation({
  empty,
  aboveComposer,
  accept,
  autoFocus,
  className = '',
  ...provided
}: ConversationProps): ReactNode {
  const { threadId, status, items } = provided.thread
  const composer = { ...(accept !== undefined && { accept }), ...(autoFocus !== undefined && { autoFocus }) }
  return (
    <ConversationProvider {...provided}>
      <div className={`troupe-conversation ${className}`.trim()} data-status={status}>
        {items.length > 0 && <ConversationLog />}
        {items.length === 0 && status !== 'loading' && empty}
        <div className="troupe-footer">
          {aboveComposer}
          <Composer key={threadId} {...composer} />
        </div>
      </div>
    </ConversationProvider>
  )
}
