import { runner } from '@troupe/flow'
import type { AgentEvent, Message } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { routerAgent } from './router-agent.fixture.ts'

const QUESTION = "What's the weather in Beijing?"
const ANSWER = 'the temperature in Beijing is 25°C'

function models() {
  const toWeather = { name: 'transfer_to_agent', arguments: { agent_name: 'WeatherAgent' } }
  // Both vendors number their calls from one, as some do.
  const router = scriptedModel([{ toolCalls: [{ id: 'call-1', ...toWeather }] }])
  const getWeather = { id: 'call-1', name: 'get_weather', arguments: { city: 'Beijing' } }
  const weather = scriptedModel([{ toolCalls: [getWeather] }, ANSWER])
  return { router, weather, chat: scriptedModel(['Hi!']) }
}

async function recordEvents(scripts: ReturnType<typeof models>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of runner({ agent: routerAgent(scripts) }).query(QUESTION, { runId: 'R' })) events.push(event)
  return events
}

test('events come in this order, with these run paths', async () => {
  const events = await recordEvents(models())
  expect(events.map(({ type, agentName, runPath }) => [type, agentName, ...runPath].join(' '))).toEqual([
    'run-start RouterAgent',
    'agent-start RouterAgent',
    'message-start RouterAgent',
    'tool-call-start RouterAgent',
    'tool-call-delta RouterAgent',
    'tool-call-end RouterAgent',
    'message-end RouterAgent',
    'tool-start RouterAgent',
    'tool-end RouterAgent',
    'action RouterAgent',
    'agent-end RouterAgent',
    'agent-start WeatherAgent RouterAgent',
    'message-start WeatherAgent RouterAgent',
    'tool-call-start WeatherAgent RouterAgent',
    'tool-call-delta WeatherAgent RouterAgent',
    'tool-call-end WeatherAgent RouterAgent',
    'message-end WeatherAgent RouterAgent',
    'tool-start WeatherAgent RouterAgent',
    'tool-end WeatherAgent RouterAgent',
    'message-start WeatherAgent RouterAgent',
    'text-delta WeatherAgent RouterAgent',
    'message-end WeatherAgent RouterAgent',
    'agent-end WeatherAgent RouterAgent',
    'run-end RouterAgent',
  ])
  expect(events.find(({ type }) => type === 'action')).toMatchObject({
    action: { type: 'transfer-to-agent', agentName: 'WeatherAgent' },
  })
  expect(events.at(-1)).toMatchObject({ outcome: 'complete', text: ANSWER, usage: { inputTokens: 3, outputTokens: 3 } })
})

test('the router sees the agents it can transfer to, and has one tool for it', async () => {
  const scripts = models()
  await recordEvents(scripts)
  const [request] = scripts.router.requests
  expect(request?.instruction).toContain(
    [
      '',
      '- Agent name: ChatAgent',
      '  Agent description: A general-purpose agent for handling conversational chat.',
      '- Agent name: WeatherAgent',
      '  Agent description: This agent can get the current weather for a given city.',
      '',
    ].join('\n'),
  )
  expect(request?.tools.map(({ name }) => name)).toEqual(['exit', 'transfer_to_agent'])
  expect(request?.tools[1]?.parameters).toMatchObject({
    properties: { agent_name: { type: 'string', enum: ['ChatAgent', 'WeatherAgent'] } },
    required: ['agent_name'],
  })
  expect(scripts.chat.requests).toEqual([])
})

test('the specialist sees what was said before it as context, and can go back to the router', async () => {
  const scripts = models()
  await recordEvents(scripts)
  const [first, second] = scripts.weather.requests
  const context = [
    { role: 'user', content: QUESTION },
    {
      role: 'user',
      content:
        'For context: [RouterAgent] called tool: `transfer_to_agent` with arguments: {"agent_name":"WeatherAgent"}.',
    },
    {
      role: 'user',
      content:
        'For context: [RouterAgent] `transfer_to_agent` tool returned result: successfully transferred to agent [WeatherAgent].',
    },
  ]
  expect(first?.messages.map(({ role, content }) => ({ role, content }))).toEqual(context)
  expect(first?.tools.map(({ name }) => name)).toEqual(['get_weather', 'transfer_to_agent'])
  expect(first?.instruction).toContain('- Agent name: RouterAgent')
  const own = second?.messages.slice(3) as readonly Message[]
  expect(own).toMatchObject([
    { role: 'assistant', toolCalls: [{ name: 'get_weather' }] },
    { role: 'tool', name: 'get_weather', content: ANSWER },
  ])
})

test('call ids are unique in the run, though both models number from one', async () => {
  const events = await recordEvents(models())
  const ids = events.flatMap((event) => (event.type === 'tool-start' ? [event.callId] : []))
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(2)
})
