// mastra.mjs
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'

// 1. A model: here a scripted one.
const answer = (content, unified) => ({
  content: [content],
  finishReason: { unified, raw: undefined },
  usage: { inputTokens: {}, outputTokens: {} },
  warnings: [],
})
const says = (text) => answer({ type: 'text', text }, 'stop')
const calls = (toolName, input) =>
  answer({ type: 'tool-call', toolCallId: toolName, toolName, input: JSON.stringify(input) }, 'tool-calls')
const model = new MockLanguageModelV4({
  doGenerate: [
    calls('get_weather', { city: 'Rome' }),
    says('It is sunny in Rome.'),
    calls('book_train', { city: 'Rome' }),
    says('Your train to Rome is booked.'),
  ],
})

// 2. Two tools.
const getWeather = createTool({
  id: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}.`,
})
const bookTrain = createTool({
  id: 'book_train',
  description: 'Books a train to a city.',
  inputSchema: z.object({ city: z.string() }),
  requireApproval: true,
  async execute({ city }) {
    console.log(`booking a train to ${city}`)
    return 'Booked.'
  },
})

// 3. An agent that stores its conversations, and asks before it books.
const agent = new Agent({
  id: 'trips',
  name: 'trips',
  model,
  instructions: 'You plan trips.',
  tools: { get_weather: getWeather, book_train: bookTrain },
  memory: new Memory(),
})
new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false })

// 4. The first turn of a conversation.
const memory = { resource: 'ann', thread: 'trip' }
const first = await agent.generate('How is the weather in Rome?', { memory })
console.log(first.text)

// 5. The second turn stops at a call that a person has to approve.
const asked = await agent.generate('Book me a train there.', { memory })
const { toolCallId, toolName, args } = asked.suspendPayload
console.log(`Allow ${toolName} ${JSON.stringify(args)}?`)

// 6. The person says yes.
const done = await agent.approveToolCallGenerate({ runId: asked.runId, toolCallId })
console.log(done.text)

// 7. The stored conversation.
const { messages } = await (await agent.getMemory()).recall({ threadId: 'trip', resourceId: 'ann' })
for (const { content } of messages)
  for (const { type, text } of content.parts) if (type === 'text') console.log('-', text)
