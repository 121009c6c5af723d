// openai-agents.mjs
import { Agent, MemorySession, Runner, tool, Usage } from '@openai/agents'
import { z } from 'zod'

// 1. A model: here a scripted one.
const says = (text) => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})
const calls = (name, args) => ({ type: 'function_call', callId: name, name, arguments: JSON.stringify(args) })
const script = [
  calls('get_weather', { city: 'Rome' }),
  says('It is sunny in Rome.'),
  calls('book_train', { city: 'Rome' }),
  says('Your train to Rome is booked.'),
]
const model = { getResponse: async () => ({ usage: new Usage(), output: [script.shift()] }) }

// 2. Two tools.
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
})
const bookTrain = tool({
  name: 'book_train',
  description: 'Books a train to a city.',
  parameters: z.object({ city: z.string() }),
  needsApproval: true,
  execute({ city }) {
    console.log(`booking a train to ${city}`)
    return 'Booked.'
  },
})

// 3. An agent that asks before it books, and a runner.
const agent = new Agent({ name: 'trips', model, instructions: 'You plan trips.', tools: [getWeather, bookTrain] })
const runner = new Runner({ tracingDisabled: true })

// 4. The first turn of a conversation.
const session = new MemorySession({ sessionId: 'trip' })
const first = await runner.run(agent, 'How is the weather in Rome?', { session })
console.log(first.finalOutput)

// 5. The second turn stops at a call that a person has to approve.
const { state, interruptions } = await runner.run(agent, 'Book me a train there.', { session })
for (const { name, arguments: args } of interruptions) console.log(`Allow ${name} ${args}?`)

// 6. The person says yes.
for (const interruption of interruptions) state.approve(interruption)
const done = await runner.run(agent, state, { session })
console.log(done.finalOutput)

// 7. The stored conversation.
const textOf = (content) => (typeof content === 'string' ? content : content.map(({ text }) => text).join(''))
for (const { content } of await session.getItems()) if (content) console.log('-', textOf(content))
