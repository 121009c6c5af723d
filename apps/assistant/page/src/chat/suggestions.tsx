import { useTheme } from '../frame/use-theme.ts'
import { promptsFor } from './prompts.ts'

/** The prompts in one line, below a conversation. */
export function Suggestions({ onSend }: { readonly onSend: (text: string) => void }) {
  const prompts = promptsFor(useTheme())
  return (
    <ul className="suggestions" aria-label="Suggestions">
      {prompts.map(({ text, short }) => (
        <li key={text}>
          <button type="button" title={text} onClick={() => onSend(text)}>
            {short}
          </button>
        </li>
      ))}
    </ul>
  )
}
