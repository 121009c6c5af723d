import { chatModelAgent } from '@troupe/chat-model'
import { type FlowRunner, runner, setSubAgents } from '@troupe/flow'
import type { Agent, Callback, ChatModel, Store, Tool } from '@troupe/kernel'
import type { AgentRegistry } from '@troupe/subagent'
import { asFunction, type Resolver } from 'awilix'
import { weatherTool } from '../weather-tool.ts'

interface Agents {
  readonly routerAgent: Agent
  readonly chatAgent: Agent
  readonly weatherAgent: Agent
}

export const agentsModule: {
  readonly tools: Resolver<readonly Tool[]>
  readonly routerAgent: Resolver<Agent>
  readonly chatAgent: Resolver<Agent>
  readonly weatherAgent: Resolver<Agent>
  readonly agent: Resolver<Agent>
  readonly runner: Resolver<FlowRunner>
} = {
  tools: asFunction(() => [weatherTool()]).singleton(),
  routerAgent: asFunction(({ model, subagents }: { model: ChatModel; subagents: AgentRegistry }) =>
    chatModelAgent({
      name: 'RouterAgent',
      description: 'A router that transfers tasks to other agents.',
      instruction:
        'You find out who can help, and hand over. Never answer a question yourself, but for one about the code of this project: let codebase_investigator look, and tell what it found.',
      model,
      tools: subagents.tools(),
    }),
  ).singleton(),
  chatAgent: asFunction(({ model }: { model: ChatModel }) =>
    chatModelAgent({
      name: 'ChatAgent',
      description: 'A general-purpose agent for handling conversational chat.',
      instruction: 'You are good company. Answer in one or two short sentences.',
      model,
    }),
  ).singleton(),
  weatherAgent: asFunction(({ model, tools }: { model: ChatModel; tools: readonly Tool[] }) =>
    chatModelAgent({
      name: 'WeatherAgent',
      description: 'This agent can get the current weather for a given city.',
      instruction: 'You tell the weather. Use get_weather for a city and answer in one short sentence.',
      model,
      tools,
    }),
  ).singleton(),
  agent: asFunction(({ routerAgent, chatAgent, weatherAgent }: Agents) =>
    setSubAgents(routerAgent, [chatAgent, weatherAgent]),
  ).singleton(),
  runner: asFunction(({ agent, store, callbacks }: { agent: Agent; store: Store; callbacks: readonly Callback[] }) =>
    runner({ agent, store, callbacks }),
  ).singleton(),
}
