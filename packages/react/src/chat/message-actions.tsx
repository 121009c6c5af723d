import type { ReactNode } from 'react'
import { Icon } from '../view/icon.tsx'
import type { UserActionsProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** The button that changes a message of the user. */
export function UserActions({ onEdit }: UserActionsProps): ReactNode {
  const { labels } = useConversation()
  return (
    <div className="troupe-actions">
      <button type="button" className="troupe-quiet" aria-label={labels.editMessage} onClick={onEdit}>
        <Icon name="edit" />
      </button>
    </div>
  )
}

/** The button that has the last answer made again. */
export function AnswerActions(): ReactNode {
  const { labels, actions, focusComposer } = useConversation()
  return (
    <div className="troupe-actions">
      <button
        type="button"
        className="troupe-quiet"
        aria-label={labels.answerAgain}
        onClick={() => {
          void actions.regenerate()
          focusComposer()
        }}
      >
        <Icon name="again" />
      </button>
    </div>
  )
}
