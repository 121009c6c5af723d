import type { MakeAgent } from '../app.ts'
import { packingListTools } from '../tools/packing-list.ts'
import { postcardTool } from '../tools/postcard.ts'

/** Good company, with postcards and a packing list. */
export const agent: MakeAgent = ({ newAgent, policy }) =>
  newAgent({
    name: 'ChatAgent',
    description: 'Good company: conversation, stories, postcards and packing lists.',
    instruction: 'You are good company. Keep answers short. You send postcards and keep the packing list.',
    tools: [policy.guard(postcardTool(), { path: [] }), ...packingListTools()],
  })
