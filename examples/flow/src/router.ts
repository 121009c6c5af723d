import { chatModelAgent } from '@troupe/chat-model'
import { setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool } from '@troupe/kernel'

const getWeather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `Sunny in ${city}.`,
})

/** A router that transfers to the agent that can help. */
export function helpDesk(model: ChatModel): Agent {
  const router = chatModelAgent({ name: 'router', description: 'Finds out who can help.', model })
  const chat = chatModelAgent({ name: 'chat', description: 'Small talk.', model })
  const weather = chatModelAgent({
    name: 'weather',
    description: 'Knows the weather in every city.',
    model,
    tools: [getWeather],
  })
  return setSubAgents(router, [chat, weather])
}
