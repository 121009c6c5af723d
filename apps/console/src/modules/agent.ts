import { chatModelAgent } from '@troupe/chat-model'
import type { Agent, ChatModel, Tool } from '@troupe/kernel'
import { asFunction, type Resolver } from 'awilix'
import { weatherTool } from '../weather-tool.ts'

export const agentModule: { readonly tools: Resolver<readonly Tool[]>; readonly agent: Resolver<Agent> } = {
  tools: asFunction(() => [weatherTool()]).singleton(),
  agent: asFunction(({ model, tools }: { model: ChatModel; tools: readonly Tool[] }) =>
    chatModelAgent({
      name: 'WeatherAgent',
      description: 'Tells the weather.',
      instruction: 'You tell the weather. Use get_weather for a city and answer in one short sentence.',
      model,
      tools,
    }),
  ).singleton(),
}
