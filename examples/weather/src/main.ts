import { openai } from '@ai-sdk/openai'
import { chatModelAgent } from '@troupe/chat-model'
import { defineTool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import * as z from 'zod'

const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  invoke: ({ city }) => `Sunny in ${city}.`,
})

const agent = chatModelAgent({ name: 'weather', model: aiSdkModel(openai('gpt-5')), tools: [weather] })
const run = startRun(agent, 'How is the weather in Beijing?')
for await (const event of run) if (event.type === 'text-delta') process.stdout.write(event.delta)
