import { Icon } from './icons.tsx'
import { setTheme } from './theme.ts'
import { useTheme } from './use-theme.ts'

/** Switches between light and dark. */
export function ThemeButton() {
  const isDark = useTheme() === 'dark'
  const next = isDark ? 'light' : 'dark'
  return (
    <button type="button" className="quiet" aria-label={`Make the page ${next}`} onClick={() => setTheme(next)}>
      <Icon name={isDark ? 'sun' : 'moon'} />
    </button>
  )
}
