import { chatModelAgent } from '@troupe/chat-model'
import { runner, setSubAgents, TRANSFER_INSTRUCTION } from '@troupe/flow'
import { type AgentEvent, type ChatModel, defineTool } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

const getWeather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `the temperature in ${city} is 25°C`,
})

function troupe(routerModel: ChatModel, weatherModel: ChatModel) {
  const router = chatModelAgent({
    name: 'RouterAgent',
    description: 'A router that transfers tasks to other agents.',
    model: routerModel,
    instruction: 'You route.',
    exit: true,
  })
  const chat = chatModelAgent({
    name: 'ChatAgent',
    description: 'A general-purpose agent for handling conversational chat.',
    model: scriptedModel(['Hi']),
  })
  const weather = chatModelAgent({
    name: 'WeatherAgent',
    description: 'This agent can get the current weather for a given city.',
    model: weatherModel,
    tools: [getWeather],
  })
  return setSubAgents(router, [chat, weather])
}

test('the weather in Beijing: events in order, run paths, and what each model sees', async () => {
  const args = { agent_name: 'WeatherAgent' }
  const routerModel = scriptedModel([{ toolCalls: [{ id: 'c1', name: 'transfer_to_agent', arguments: args }] }])
  const weatherModel = scriptedModel([
    { toolCalls: [{ id: 'c1', name: 'get_weather', arguments: { city: 'Beijing' } }] },
    'the temperature in Beijing is 25°C',
  ])
  const run = runner({ agent: troupe(routerModel, weatherModel) }).query("What's the weather in Beijing?", { runId: 'R' })
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  for (const e of events) console.log(JSON.stringify(e))
  console.log(JSON.stringify(routerModel.requests, null, 1), JSON.stringify(weatherModel.requests[0], null, 1))
  expect((await run).text).toBe('the temperature in Beijing is 25°C')
  expect(TRANSFER_INSTRUCTION).toBeTruthy()
})
