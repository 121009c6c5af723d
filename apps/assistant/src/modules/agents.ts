import { chatModelAgent } from '@troupe/chat-model'
import { type FlowRunner, runner, setSubAgents } from '@troupe/flow'
import type { Agent, Callback, ChatModel, Store } from '@troupe/kernel'
import type { AgentRegistry } from '@troupe/subagent'
import { asFunction, type Resolver } from 'awilix'
import { packingListTools } from '../tools/packing-list.ts'
import { postcardTool } from '../tools/postcard.ts'
import { weatherTool } from '../tools/weather.ts'

interface Agents {
  readonly routerAgent: Agent
  readonly chatAgent: Agent
  readonly weatherAgent: Agent
}

export const agentsModule: {
  readonly routerAgent: Resolver<Agent>
  readonly chatAgent: Resolver<Agent>
  readonly weatherAgent: Resolver<Agent>
  readonly agent: Resolver<Agent>
  readonly runner: Resolver<FlowRunner>
} = {
  routerAgent: asFunction(({ model, subagents }: { model: ChatModel; subagents: AgentRegistry }) =>
    chatModelAgent({
      name: 'RouterAgent',
      description: 'Finds out who can help, and hands over.',
      instruction:
        'You find out who can help, and hand over. Two things you do yourself: for questions about the code of this project let codebase_investigator look and tell what it found, and with set_theme you change how the page looks.',
      model,
      tools: subagents.tools(),
    }),
  ).singleton(),
  chatAgent: asFunction(({ model }: { model: ChatModel }) =>
    chatModelAgent({
      name: 'ChatAgent',
      description: 'Good company: conversation, stories, postcards and packing lists.',
      instruction: 'You are good company. Keep answers short. You send postcards and keep the packing list.',
      model,
      tools: [postcardTool(), ...packingListTools()],
    }),
  ).singleton(),
  weatherAgent: asFunction(({ model }: { model: ChatModel }) =>
    chatModelAgent({
      name: 'WeatherAgent',
      description: 'Knows the weather in any city.',
      instruction: 'You tell the weather. Use get_weather for a city and answer in one short sentence.',
      model,
      tools: [weatherTool()],
    }),
  ).singleton(),
  agent: asFunction(({ routerAgent, chatAgent, weatherAgent }: Agents) =>
    setSubAgents(routerAgent, [chatAgent, weatherAgent]),
  ).singleton(),
  runner: asFunction(({ agent, store, callbacks }: { agent: Agent; store: Store; callbacks: readonly Callback[] }) =>
    runner({ agent, store, callbacks }),
  ).singleton(),
}
