import { Prose } from './prose.tsx'

interface MessageProps {
  readonly author: string
  readonly isUser?: boolean
  /** Whether the message before has the same author. */
  readonly continues?: boolean
  readonly text: string
  readonly thought?: string
  readonly done: boolean
}

/** A message of the user or of an agent, with its author. */
export function Message({ author, isUser = false, continues = false, text, thought = '', done }: MessageProps) {
  if (text === '' && thought === '' && done) return null
  return (
    <article className="message" data-user={isUser} data-continues={continues} data-done={done}>
      <h3 className={continues ? 'sr-only' : 'author'}>{author}</h3>
      <div className="message-text">
        {thought !== '' && (
          <details className="thought">
            <summary>Thinking</summary>
            <p>{thought}</p>
          </details>
        )}
        <Prose text={text} />
      </div>
    </article>
  )
}
