import { toolSearch } from '@troupe/context'
import type { MakeAgent } from '../app.ts'

/** Knows the ferries, by the tools of an MCP server. */
export const agent: MakeAgent = ({ newAgent, ferries }) =>
  newAgent({
    name: 'FerryAgent',
    description: 'Knows the ferries of the harbour and books seats on them.',
    instruction: 'You look up ferries and book them. The harbour asks which ferry it is to be, so do not ask yourself.',
    // Servers may offer hundreds of tools; from the first on, so that the two of this one show how it goes.
    handlers: [ferries, toolSearch({ from: 1 })],
  })
