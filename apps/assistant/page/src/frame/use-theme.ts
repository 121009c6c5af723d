import { useSyncExternalStore } from 'react'
import { onTheme, type Theme, theme } from './theme.ts'

/** How the page looks now. */
export function useTheme(): Theme {
  return useSyncExternalStore(onTheme, theme)
}
