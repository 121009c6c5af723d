import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type Registrations, singleton } from '../app.ts'

/** The agent, which gets its tools from MCP servers, and the runner of its conversations. */
export const agentModule: Registrations<'agent' | 'runner'> = {
  agent: singleton(({ model, tools }) =>
    chatModelAgent({
      name: 'housekeeper',
      description: 'Knows what is in the pantry, and orders what is missing.',
      instruction: 'You look after the pantry. Look before you answer. Answer in one or two short sentences.',
      model,
      handlers: [tools],
    }),
  ),
  runner: singleton(({ agent, store }) => runner({ agent, store, busy: 'queue' })),
}
