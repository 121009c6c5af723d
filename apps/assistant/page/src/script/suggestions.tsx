import { useTheme } from '../frame/use-theme.ts'
import { promptsFor } from './prompts.ts'

/** The suggestions again, in one line. */
export function Suggestions({ onSay }: { readonly onSay: (text: string) => void }) {
  const prompts = promptsFor(useTheme())
  return (
    <ul className="suggestions" aria-label="Suggestions">
      {prompts.map(({ text, short }) => (
        <li key={text}>
          <button type="button" title={text} onClick={() => onSay(text)}>
            {short}
          </button>
        </li>
      ))}
    </ul>
  )
}
