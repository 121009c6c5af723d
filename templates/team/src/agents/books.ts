import type { Agent } from '@troupe/kernel'
import type { App } from '../app.ts'

/** Recommends books, with the researcher as a tool. */
export function books({ newAgent, subagents }: Pick<App, 'newAgent' | 'subagents'>): Agent {
  return newAgent({
    name: 'books',
    description: 'Knows the books of the shop and recommends them.',
    instruction: 'You recommend books. Let the researcher look for them, and recommend only what it found.',
    tools: subagents.tools(),
  })
}
