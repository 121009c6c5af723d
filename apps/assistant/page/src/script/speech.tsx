import { Prose } from './prose.tsx'

interface SpeechProps {
  readonly speaker: string
  readonly isUser?: boolean
  /** The one who spoke before speaks on. */
  readonly goesOn?: boolean
  readonly text: string
  readonly thought?: string
  readonly done: boolean
}

/** One speech: who speaks, and what. */
export function Speech({ speaker, isUser = false, goesOn = false, text, thought = '', done }: SpeechProps) {
  if (text === '' && thought === '' && done) return null
  return (
    <article className="line" data-user={isUser} data-goes-on={goesOn} data-done={done}>
      <h3 className={goesOn ? 'sr-only' : 'speaker'}>{speaker}</h3>
      <div className="speech">
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
