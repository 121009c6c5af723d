// ai-sdk.mjs
import { ToolLoopAgent, tool } from 'ai'
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
const getWeather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
})
const bookTrain = tool({
  description: 'Books a train to a city.',
  inputSchema: z.object({ city: z.string() }),
  execute({ city }) {
    console.log(`booking a train to ${city}`)
    return 'Booked.'
  },
})

// 3. An agent that asks before it books, and a store for its conversations.
const agent = new ToolLoopAgent({
  model,
  instructions: 'You plan trips.',
  tools: { get_weather: getWeather, book_train: bookTrain },
  toolApproval: { book_train: 'user-approval' },
})
const threads = new Map()
async function turn(threadId, message) {
  const messages = [...(threads.get(threadId) ?? []), message]
  const result = await agent.generate({ messages })
  threads.set(threadId, [...messages, ...result.response.messages])
  return result
}

// 4. The first turn of a conversation.
const first = await turn('trip', { role: 'user', content: 'How is the weather in Rome?' })
console.log(first.text)

// 5. The second turn stops at a call that a person has to approve.
const asked = await turn('trip', { role: 'user', content: 'Book me a train there.' })
const requests = asked.content.filter(({ type }) => type === 'tool-approval-request')
for (const { toolCall } of requests) console.log(`Allow ${toolCall.toolName} ${JSON.stringify(toolCall.input)}?`)

// 6. The person says yes.
const responses = requests.map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved: true }))
const done = await turn('trip', { role: 'tool', content: responses })
console.log(done.text)

// 7. The stored conversation.
const textOf = (content) => (typeof content === 'string' ? content : content.map(({ text = '' }) => text).join(''))
for (const { content } of threads.get('trip')) if (textOf(content)) console.log('-', textOf(content))
