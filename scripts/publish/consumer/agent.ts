import { chatModelAgent } from '@troupe/chat-model'
import { defineTool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { standIn } from './stand-in.ts'

const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `Sunny in ${city}.`,
})

const agent = chatModelAgent({ name: 'weather', model: standIn, tools: [weather] })
const run = startRun(agent, 'How is the weather?')
for await (const event of run) {
  if (event.type === 'tool-start') console.log('calls', event.name)
  if (event.type === 'text-delta') console.log('says', event.delta)
}
