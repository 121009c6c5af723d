import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import type { UserItem } from '../thread/item.ts'
import type { UserMessageProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** A message of the user, which can be changed. */
export function UserMessage({ item }: UserMessageProps): ReactNode {
  const { labels, components, focusComposer } = useConversation()
  const { Text, Files, UserActions } = components
  const [isEditing, edit] = useState(false)
  const { text, files, unsent } = item
  return (
    <article className="troupe-message" data-user data-done>
      <h3 className="troupe-author">{labels.you}</h3>
      <div className="troupe-text">
        <Files files={files} />
        {isEditing ? (
          <EditForm
            item={item}
            onDone={() => {
              edit(false)
              focusComposer()
            }}
          />
        ) : (
          <Text text={text} />
        )}
        {unsent && <p className="troupe-unsent">{labels.notSent}</p>}
      </div>
      {!isEditing && !unsent && <UserActions item={item} onEdit={() => edit(true)} />}
    </article>
  )
}

function EditForm({ item, onDone }: { readonly item: UserItem; readonly onDone: () => void }): ReactNode {
  const { labels, actions } = useConversation()
  const [text, setText] = useState(item.text)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const save = () => {
    if (text.trim() === '') return
    onDone()
    void actions.edit(item.id, text.trim())
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      onDone()
    }
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    save()
  }
  return (
    <form
      className="troupe-edit"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <textarea
        ref={field}
        value={text}
        aria-label={labels.editMessage}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <button type="submit" className="troupe-primary" disabled={text.trim() === ''}>
        {labels.save}
      </button>
      <button type="button" className="troupe-plain" onClick={onDone}>
        {labels.cancel}
      </button>
    </form>
  )
}
