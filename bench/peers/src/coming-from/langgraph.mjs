// langgraph.mjs
import { Command, MemorySaver } from '@langchain/langgraph'
import { AIMessage, createAgent, fakeModel, humanInTheLoopMiddleware, tool } from 'langchain'
import { z } from 'zod'

// 1. A model: here a scripted one.
const calls = (name, args) => new AIMessage({ content: '', tool_calls: [{ id: name, name, args }] })
const model = fakeModel()
  .respond(calls('get_weather', { city: 'Rome' }))
  .respond(new AIMessage('It is sunny in Rome.'))
  .respond(calls('book_train', { city: 'Rome' }))
  .respond(new AIMessage('Your train to Rome is booked.'))

// 2. Two tools.
const getWeather = tool(({ city }) => `Sunny in ${city}.`, {
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
})
const bookTrain = tool(
  ({ city }) => {
    console.log(`booking a train to ${city}`)
    return 'Booked.'
  },
  { name: 'book_train', description: 'Books a train to a city.', schema: z.object({ city: z.string() }) },
)

// 3. An agent that stores its conversations, and asks before it books.
const agent = createAgent({
  model,
  systemPrompt: 'You plan trips.',
  tools: [getWeather, bookTrain],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { book_train: { allowedDecisions: ['approve', 'reject'] } } })],
  checkpointer: new MemorySaver(),
})

// 4. The first turn of a conversation.
const config = { configurable: { thread_id: 'trip' } }
const first = await agent.invoke({ messages: [{ role: 'user', content: 'How is the weather in Rome?' }] }, config)
console.log(first.messages.at(-1).text)

// 5. The second turn stops at a call that a person has to approve.
const asked = await agent.invoke({ messages: [{ role: 'user', content: 'Book me a train there.' }] }, config)
const [{ value }] = asked.__interrupt__
for (const { name, args } of value.actionRequests) console.log(`Allow ${name} ${JSON.stringify(args)}?`)

// 6. The person says yes.
const decisions = value.actionRequests.map(() => ({ type: 'approve' }))
const done = await agent.invoke(new Command({ resume: { decisions } }), config)
console.log(done.messages.at(-1).text)

// 7. The stored conversation.
const { values } = await agent.getState(config)
for (const { type, text } of values.messages) if (type !== 'tool' && text) console.log('-', text)
