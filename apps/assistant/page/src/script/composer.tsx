import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Icon } from '../frame/icons.tsx'
import type { Conversation } from '../talk/conversation.ts'

interface ComposerProps {
  readonly status: Conversation['status']
  /** A question is open, and comes first. */
  readonly mustAnswer: boolean
  readonly onSay: (text: string) => void
  readonly onStop: () => void
}

/** Where the user writes. Enter sends, Shift and Enter makes a new line, Escape stops the run. */
export function Composer({ status, mustAnswer, onSay, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  const isBusy = status === 'running' || status === 'stopping'
  const canSend = status === 'idle' && !mustAnswer && text.trim() !== ''

  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) box.current?.focus()
  }, [])

  const send = () => {
    if (!canSend) return
    onSay(text.trim())
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
        ref={box}
        rows={1}
        value={text}
        aria-label="Message"
        placeholder={mustAnswer ? 'Answer the question above first' : 'Say something'}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <button
          type="button"
          className="primary round"
          aria-label="Stop"
          disabled={status === 'stopping'}
          onClick={onStop}
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
