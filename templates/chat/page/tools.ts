import type { PageTools } from '@troupe/react'

/** The tools that run on this page; the agent can call them like its own. */
export const TOOLS: PageTools = {
  set_theme: {
    description: 'Makes the page light or dark.',
    parameters: {
      type: 'object',
      properties: { theme: { type: 'string', enum: ['light', 'dark'] } },
      required: ['theme'],
    },
    run: ({ theme }) => {
      document.documentElement.style.colorScheme = String(theme)
      return `The page is ${theme} now.`
    },
  },
}
