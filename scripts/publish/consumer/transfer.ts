import { chatModelAgent } from '@troupe/chat-model'
import { runner, setSubAgents } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { standIn } from './stand-in.ts'

const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `Sunny in ${city}.`,
})

const router = chatModelAgent({ name: 'router', description: 'Finds out who can help.', model: standIn })
const { query } = runner({
  agent: setSubAgents(router, [
    chatModelAgent({ name: 'weather', description: 'Knows the weather.', model: standIn, tools: [weather] }),
  ]),
})

for await (const event of query('How is the weather?')) {
  if (event.type === 'agent-start') console.log('turn of', [...event.runPath, event.agentName].join(' > '))
  if (event.type === 'text-delta') console.log('says', event.delta)
}
