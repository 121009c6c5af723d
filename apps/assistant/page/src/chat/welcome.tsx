import type { About } from '../conversation/server.ts'
import { useTheme } from '../frame/use-theme.ts'
import { promptsFor } from './prompts.ts'

/** The page of a new conversation, with prompts to try. */
export function Welcome({
  about,
  onSend,
}: {
  readonly about: About | undefined
  readonly onSend: (text: string) => void
}) {
  const prompts = promptsFor(useTheme())
  return (
    <section className="welcome" aria-label="Suggestions">
      <h2>What would you like to try?</h2>
      <p className="welcome-about">
        A router, two agents that it transfers to, and a sub-agent that it calls as a tool.{' '}
        {about?.demo
          ? 'A small demo model answers for all of them: it needs no key, and knows just enough for these prompts.'
          : `${about?.model ?? 'A model'} answers for all of them.`}
      </p>
      <ul className="prompts">
        {prompts.map(({ text, shows }) => (
          <li key={text}>
            <button type="button" onClick={() => onSend(text)}>
              <span className="prompt-text">{text}</span>
              <span className="prompt-shows">{shows}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
