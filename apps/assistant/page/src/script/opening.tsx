import { useTheme } from '../frame/use-theme.ts'
import type { About } from '../talk/server.ts'
import { promptsFor } from './prompts.ts'

/** What stands on the page before anybody has spoken. */
export function Opening({
  about,
  onSay,
}: {
  readonly about: About | undefined
  readonly onSay: (text: string) => void
}) {
  const prompts = promptsFor(useTheme())
  return (
    <section className="opening" aria-label="Suggestions">
      <h2>Who shall speak first?</h2>
      <p className="opening-about">
        A router, two agents it hands over to, and one they call for help.{' '}
        {about?.demo
          ? 'A small demo model plays all the parts: it needs no key, and it knows just enough for these.'
          : `${about?.model ?? 'A model'} plays all the parts.`}
      </p>
      <ul className="programme">
        {prompts.map(({ text, shows }) => (
          <li key={text}>
            <button type="button" onClick={() => onSay(text)}>
              <span className="programme-text">{text}</span>
              <span className="programme-shows">{shows}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
