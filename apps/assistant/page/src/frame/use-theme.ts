import { useSyncExternalStore } from 'react'
import { onTheme, type Theme, theme } from './theme.ts'

/** The current theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(onTheme, theme)
}
