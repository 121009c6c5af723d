import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom } from '@troupe/context'
import { runner, setSubAgents } from '@troupe/flow'
import { loadParts } from '@troupe-apps/setup'
import { type MakeAgent, type Registrations, singleton } from '../app.ts'

/** The router, and the agents that it can transfer to: one for each file of `src/agents`. */
export async function agentsModule(): Promise<Registrations<'newAgent' | 'agents' | 'agent' | 'runner'>> {
  const makers = await loadParts<MakeAgent>(new URL('../agents/', import.meta.url), 'agent')
  return {
    newAgent: singleton(({ model, telemetry, handlers }) => ({ handlers: own = [], ...options }) => {
      return chatModelAgent({ model, ...options, handlers: [...telemetry.handlers, ...handlers, ...own] })
    }),
    agents: singleton((app) => makers.map((make) => make(app))),
    agent: singleton(({ newAgent, subagents, agents }) => {
      const router = newAgent({
        name: 'RouterAgent',
        description: 'Finds out which agent can help and transfers to it.',
        instruction:
          'You find out which agent can help and transfer to it. Two things you do yourself: for questions about the code of this project you call codebase_investigator and report what it found, and with set_theme you change how the page looks.',
        tools: subagents.tools(),
      })
      return setSubAgents(router, agents)
    }),
    runner: singleton(({ agent, store, callbacks }) =>
      runner({ agent, store, callbacks, history: { from: compactedFrom } }),
    ),
  }
}
