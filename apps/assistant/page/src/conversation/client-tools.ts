import type { Tool } from '@ag-ui/client'
import { setTheme } from '../frame/theme.ts'
import { argsOf } from './items.ts'

/** A tool that runs on this page. */
interface ClientTool extends Tool {
  run(args: Record<string, unknown>): string
}

const TOOLS: readonly ClientTool[] = [
  {
    name: 'set_theme',
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
]

/** The tools as agents see them. */
export const CLIENT_TOOLS: Tool[] = TOOLS.map(({ name, description, parameters }) => ({
  name,
  description,
  parameters,
}))

/** Runs a tool of this page; returns the result for the agent. */
export function runClientTool(name: string, args: string): string {
  return TOOLS.find((tool) => tool.name === name)?.run(argsOf(args)) ?? 'This page has no such tool.'
}
