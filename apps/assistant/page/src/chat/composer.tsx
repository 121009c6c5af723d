import { type KeyboardEvent, useEffect, useState } from 'react'
import type { Conversation } from '../conversation/conversation.ts'
import { Icon } from '../frame/icons.tsx'

interface ComposerProps {
  readonly status: Conversation['status']
  /** Whether an open question has to be answered first. */
  readonly mustAnswer: boolean
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Moves the focus to the message box. Contract: not on a touch screen, where it would open the keyboard. */
export function focusComposer(): void {
  if (matchMedia('(pointer: fine)').matches) document.getElementById('composer')?.focus()
}

/** The message box. Enter sends, Shift and Enter makes a new line, Escape stops the run. Contract: a message that is sent while the conversation loads is sent afterwards. */
export function Composer({ status, mustAnswer, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const [sent, setSent] = useState<string>()
  const isBusy = status === 'running' || status === 'stopping'
  const canSend = !isBusy && !mustAnswer && text.trim() !== ''

  useEffect(focusComposer, [])

  useEffect(() => {
    if (sent === undefined || status === 'loading') return
    setSent(undefined)
    if (status === 'idle' && !mustAnswer) onSend(sent)
    else setText((since) => sent + since)
  }, [sent, status, mustAnswer, onSend])

  const send = () => {
    if (!canSend) return
    setSent(text.trim())
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        id="composer"
        rows={1}
        value={text}
        aria-label="Message"
        placeholder={mustAnswer ? 'Answer the question above first' : 'Write a message'}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <button
          type="button"
          className="primary round"
          aria-label="Stop"
          disabled={status === 'stopping'}
          onClick={() => {
            onStop()
            focusComposer()
          }}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button type="submit" className="primary round" aria-label="Send" disabled={!canSend}>
          <Icon name="send" />
        </button>
      )}
    </form>
  )
}
