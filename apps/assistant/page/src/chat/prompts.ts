import type { Theme } from '../frame/theme.ts'

/** A prompt to try, and what it shows. */
export interface Prompt {
  readonly text: string
  readonly short: string
  readonly shows: string
}

const PROMPTS: readonly Prompt[] = [
  { text: 'What’s the weather in Lisbon?', short: 'Weather', shows: 'The router transfers to the agent that knows.' },
  {
    text: 'Where in the code is defineTool?',
    short: 'Search the code',
    shows: 'A sub-agent works inside a call, live.',
  },
  { text: 'Send Ada a postcard from Lisbon', short: 'Postcard', shows: 'The agent asks you before it sends it.' },
  {
    text: 'Pack for three rainy days in Bergen',
    short: 'Packing list',
    shows: 'A list that you and the agent edit together.',
  },
  { text: 'Make the page dark', short: 'Dark page', shows: 'The agent uses a tool of this page.' },
  { text: 'Tell me a long story', short: 'Long story', shows: 'Stop it, or reload in the middle.' },
]

const LIGHT: Prompt = { text: 'Make the page light', short: 'Light page', shows: 'The agent uses a tool of this page.' }

/** The prompts for a page with this theme. */
export function promptsFor(theme: Theme): readonly Prompt[] {
  return theme === 'light' ? PROMPTS : PROMPTS.map((prompt) => (prompt.text.includes('dark') ? LIGHT : prompt))
}
