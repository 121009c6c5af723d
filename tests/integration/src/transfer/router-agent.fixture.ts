import { chatModelAgent } from '@troupe/chat-model'
import { setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool } from '@troupe/kernel'

const getWeather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  kind: 'read',
  invoke: ({ city }) => `the temperature in ${city} is 25°C`,
})

/** A router and two specialists, each with its own model. */
export function routerAgent(models: Readonly<Record<'router' | 'chat' | 'weather', ChatModel>>): Agent {
  const router = chatModelAgent({
    name: 'RouterAgent',
    description: 'A router that transfers tasks to other agents.',
    model: models.router,
    exit: true,
  })
  const chat = chatModelAgent({
    name: 'ChatAgent',
    description: 'A general-purpose agent for handling conversational chat.',
    model: models.chat,
  })
  const weather = chatModelAgent({
    name: 'WeatherAgent',
    description: 'This agent can get the current weather for a given city.',
    model: models.weather,
    tools: [getWeather],
  })
  return setSubAgents(router, [chat, weather])
}
