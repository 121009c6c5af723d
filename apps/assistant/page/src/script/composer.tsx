import { type KeyboardEvent, useEffect, useState } from 'react'
import { Icon } from '../frame/icons.tsx'
import type { Conversation } from '../talk/conversation.ts'

interface ComposerProps {
  readonly status: Conversation['status']
  /** A question is open, and comes first. */
  readonly mustAnswer: boolean
  readonly onSay: (text: string) => void
  readonly onStop: () => void
}

/** Back to where the user writes, when what had the focus goes away. Contract: no keyboard opens over a touch screen. */
export function focusComposer(): void {
  if (matchMedia('(pointer: fine)').matches) document.getElementById('composer')?.focus()
}

/** Where the user writes. Enter sends, Shift and Enter makes a new line, Escape stops the run. Contract: what is sent while the conversation loads goes out after that. */
export function Composer({ status, mustAnswer, onSay, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const [sent, setSent] = useState<string>()
  const isBusy = status === 'running' || status === 'stopping'
  const canSend = !isBusy && !mustAnswer && text.trim() !== ''

  useEffect(focusComposer, [])

  useEffect(() => {
    if (sent === undefined || status === 'loading') return
    setSent(undefined)
    if (status === 'idle' && !mustAnswer) onSay(sent)
    else setText((since) => sent + since)
  }, [sent, status, mustAnswer, onSay])

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
