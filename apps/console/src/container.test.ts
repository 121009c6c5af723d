import type { AgentHandler } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { expect, it } from 'vitest'
import { readConfig } from './config.ts'
import { createApp } from './container.ts'

const config = readConfig([], {}, false)

it('resolves everything that is registered', async () => {
  const app = await createApp(config)
  for (const name of Object.keys(app.registrations)) expect(app.resolve(name), name).toBeDefined()
})

it('wires the demo model, or the vendor that is configured', async () => {
  expect((await createApp(config)).cradle.model.name).toBe('demo')
  const vendor = { vendor: 'ollama', model: 'llama3.2', ollamaUrl: 'http://127.0.0.1:1/v1' } as const
  expect((await createApp({ ...config, vendor })).cradle.model.name).toBe('ollama:llama3.2')
})

it('swaps a part with one registration', async () => {
  const app = (await createApp(config)).register({ model: asValue(scriptedModel(['Hi'])) })
  expect(app.cradle.model.name).toBe('scripted')
  expect((await app.cradle.runner.query('Hello?')).text).toBe('Hi')
})

it('gives every agent the handlers of the app, sub-agents included', async () => {
  const heard: string[] = []
  const handler: AgentHandler = { name: 'ear', beforeAgent: ({ agentName }) => void heard.push(agentName) }
  const turns = [
    { toolCalls: [{ name: 'codebase_investigator', arguments: { objective: 'Look.' } }] },
    { toolCalls: [{ name: 'complete_task', arguments: { result: 'Found.' } }] },
    { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'WeatherAgent' } }] },
    'Sunny.',
  ]
  const app = (await createApp(config)).register({
    model: asValue(scriptedModel(turns)),
    handlers: asValue([handler]),
  })
  await app.cradle.runner.query('Where is it?')
  expect(heard).toEqual(['RouterAgent', 'codebase_investigator', 'WeatherAgent'])
  const names = (await createApp(config)).cradle.handlers.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['toolCallLimit', 'truncateResults']))
})
