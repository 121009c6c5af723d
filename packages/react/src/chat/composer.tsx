import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useState } from 'react'
import { Icon } from '../view/icon.tsx'
import { useConversation, useShownThread } from './conversation-context.ts'
import { FilePicker } from './file-picker.tsx'

/** The props of `<Composer>`. */
export interface ComposerProps {
  /** The files that can be attached, as for `<input accept>`. @default none */
  readonly accept?: string
  /** Whether it takes the focus when it appears; never on a touch screen. @default true */
  readonly autoFocus?: boolean
}

/**
 * The message box. Enter sends, Shift and Enter makes a new line, Escape stops the run.
 * Contract: a message that is sent while the conversation loads is sent afterwards; one that cannot be sent comes back into the box.
 */
export function Composer({ accept, autoFocus = true }: ComposerProps): ReactNode {
  const { labels, actions, composer, focusComposer } = useConversation()
  const { status, questions } = useShownThread()
  const [text, setText] = useState('')
  const [files, setFiles] = useState<readonly File[]>([])
  const isBusy = status === 'running' || status === 'stopping'
  const mustAnswer = questions.length > 0
  const canSend = !isBusy && !mustAnswer && (text.trim() !== '' || files.length > 0)

  useEffect(() => {
    if (autoFocus) focusComposer()
  }, [autoFocus, focusComposer])

  const send = async () => {
    if (!canSend) return
    setText('')
    setFiles([])
    if (await actions.send(text.trim(), files)) return
    setText((since) => text + since)
    setFiles((since) => [...files, ...since])
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') void actions.stop()
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void send()
  }
  return (
    <form
      className="troupe-composer"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {accept !== undefined && <FilePicker accept={accept} files={files} onChange={setFiles} />}
      <textarea
        // The types of React 18 have no null here.
        ref={composer as RefObject<HTMLTextAreaElement>}
        rows={1}
        value={text}
        aria-label={labels.message}
        placeholder={mustAnswer ? labels.answerFirst : labels.writeMessage}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={({ clipboardData }) => {
          if (accept !== undefined && clipboardData.files.length > 0) setFiles([...files, ...clipboardData.files])
        }}
      />
      {isBusy ? (
        <button
          type="button"
          className="troupe-primary troupe-round"
          aria-label={labels.stop}
          disabled={status === 'stopping'}
          onClick={() => {
            void actions.stop()
            focusComposer()
          }}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button type="submit" className="troupe-primary troupe-round" aria-label={labels.send} disabled={!canSend}>
          <Icon name="send" />
        </button>
      )}
    </form>
  )
}
