import type { MakeAgent } from '../app.ts'

/** Makes small talk. */
export const agent: MakeAgent = ({ newAgent }) =>
  newAgent({
    name: 'ChatAgent',
    description: 'A general-purpose agent for handling conversational chat.',
    instruction: 'You are good company. Answer in one or two short sentences.',
  })
