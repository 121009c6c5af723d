// adk.mjs
import {
  BaseLlm,
  FunctionTool,
  getFunctionCalls,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  Runner,
  setLogLevel,
} from '@google/adk'
import { z } from 'zod'

setLogLevel(LogLevel.ERROR)

// 1. A model: here a scripted one.
const script = [
  { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
  { text: 'It is sunny in Rome.' },
  { functionCall: { name: 'book_train', args: { city: 'Rome' } } },
  { text: 'Your train to Rome is booked.' },
]
class ScriptedModel extends BaseLlm {
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: [script.shift()] } }
  }
}

// 2. Two tools.
const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}.`,
})
const bookTrain = new FunctionTool({
  name: 'book_train',
  description: 'Books a train to a city.',
  parameters: z.object({ city: z.string() }),
  requireConfirmation: true,
  execute({ city }) {
    console.log(`booking a train to ${city}`)
    return 'Booked.'
  },
})

// 3. An agent that asks before it books, and a runner that stores its conversations.
const agent = new LlmAgent({
  name: 'trips',
  model: new ScriptedModel({ model: 'scripted' }),
  instruction: 'You plan trips.',
  tools: [getWeather, bookTrain],
})
const sessionService = new InMemorySessionService()
const runner = new Runner({ appName: 'demo', agent, sessionService })

// 4. The first turn of a conversation.
const session = { userId: 'ann', sessionId: 'trip' }
await sessionService.createSession({ appName: 'demo', ...session })
async function turn(...parts) {
  const events = []
  for await (const event of runner.runAsync({ ...session, newMessage: { role: 'user', parts } })) events.push(event)
  return events
}
const textOf = ({ content }) => content?.parts?.map(({ text = '' }) => text).join('') ?? ''
const first = await turn({ text: 'How is the weather in Rome?' })
console.log(textOf(first.at(-1)))

// 5. The second turn stops at a call that a person has to approve.
const asked = await turn({ text: 'Book me a train there.' })
const requests = asked.flatMap(getFunctionCalls).filter(({ name }) => name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME)
for (const { args } of requests) {
  const { name, args: given } = args.originalFunctionCall
  console.log(`Allow ${name} ${JSON.stringify(given)}?`)
}

// 6. The person says yes.
const answers = requests.map(({ id, name }) => ({ functionResponse: { id, name, response: { confirmed: true } } }))
const done = await turn(...answers)
console.log(textOf(done.at(-1)))

// 7. The stored conversation.
const { events } = await sessionService.getSession({ appName: 'demo', ...session })
for (const event of events) if (textOf(event)) console.log('-', textOf(event))
