import type { PageTools } from '@troupe/react'
import { setTheme } from '../frame/theme.ts'

/** The tools that run on this page. */
export const CLIENT_TOOLS: PageTools = {
  set_theme: {
    description: 'Makes the page that the user looks at light or dark.',
    parameters: {
      type: 'object',
      properties: { theme: { type: 'string', enum: ['light', 'dark'] } },
      required: ['theme'],
    },
    run: ({ theme }) => {
      if (theme !== 'light' && theme !== 'dark') return 'There are two themes: light and dark.'
      setTheme(theme)
      return `The page is ${theme} now.`
    },
  },
}
