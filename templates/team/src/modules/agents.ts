import { chatModelAgent } from '@troupe/chat-model'
import { runner, setSubAgents } from '@troupe/flow'
import { AgentRegistry } from '@troupe/subagent'
import { books } from '../agents/books.ts'
import { orders } from '../agents/orders.ts'
import { researcher, searchBooks } from '../agents/researcher.ts'
import { type Registrations, singleton } from '../app.ts'

/** The team: a desk that transfers to specialists, one of which has an agent as a tool. */
export const agentsModule: Registrations<'newAgent' | 'subagents' | 'desk' | 'runner'> = {
  newAgent: singleton(({ model, handlers }) => ({ handlers: own = [], ...options }) => {
    return chatModelAgent({ model, ...options, handlers: [...handlers, ...own] })
  }),
  subagents: singleton(({ newAgent, model, policy, shop }) => {
    const tools = [searchBooks(shop)]
    const registry = new AgentRegistry({ factory: newAgent, model, tools, guard: policy.guard })
    registry.registerAgent(researcher)
    return registry
  }),
  desk: singleton((app) => {
    const desk = app.newAgent({
      name: 'desk',
      description: 'Welcomes customers, and finds out who can help.',
      instruction: 'You welcome customers. Transfer to an agent that knows better. Answer in one sentence.',
    })
    return setSubAgents(desk, [orders(app), books(app)])
  }),
  // After a crash a conversation is free half a minute later; until then a run waits.
  runner: singleton(({ desk, store }) => runner({ agent: desk, store, busy: 'queue' })),
}
