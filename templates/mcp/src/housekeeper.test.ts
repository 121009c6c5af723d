import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { runner } from '@troupe/flow'
import type { ChatModel } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { answersFor } from './answers-for.ts'
import { type Config, readConfig } from './config.ts'
import { closeApp, createApp } from './container.ts'
import { pantryTools } from './servers/pantry-tools.ts'

const root = dirname(import.meta.dirname)
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** The pantry in this process, as a server that is reached over HTTP. */
function pantry(): Config['servers'] {
  const store = memoryStore()
  const tools = pantryTools(join(folder, 'orders.txt'))
  const owner = { app: 'pantry', user: 'me' }
  const handler = mcpServer({ runner: (agent) => runner({ agent, store }), tools, store, owner })
  const fetch = (url: string | URL, init?: RequestInit) => handler(new Request(url, init))
  return { pantry: { url: 'http://localhost/', trusted: true, fetch } }
}

/** The whole app with another model, and a host that talks to it and answers its questions. */
async function housekeeper(model: ChatModel, servers: Config['servers'], approved = true) {
  const app = createApp({ stdio: false, port: 0, servers })
  app.register({ model: asValue(model), store: asValue(memoryStore()) })
  const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } } as const
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  const asked: string[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message)
    return { action: 'accept', content: { approved } }
  })
  const fetch = async (url: string | URL, init?: RequestInit) => app.cradle.mcp(new Request(url, init))
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/'), { fetch }))
  return {
    client,
    asked,
    ask: async (message: string) => {
      const { content } = await client.callTool({ name: 'housekeeper', arguments: { message } })
      return content[0]
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await closeApp(app)
    },
  }
}

const order = { toolCalls: [{ name: 'pantry_order', arguments: { thing: 'rice' } }] }

test('a host sees the agent as one tool', async () => {
  await using host = await housekeeper(scriptedModel([]), pantry())
  expect((await host.client.listTools()).tools.map(({ name }) => name)).toEqual(['housekeeper'])
})

test('the agent has the tools of the server in mcp.json, which runs as a process', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'pantry_stock', arguments: {} }] }, 'There is rice.'])
  const config = readConfig([], {}, root) as Config
  await using host = await housekeeper(model, config.servers)
  expect(await host.ask('What is there?')).toEqual({ type: 'text', text: 'There is rice.' })
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: expect.stringContaining('"rice":3'),
  })
})

test('the question of the server reaches the host, and its answer the server', async () => {
  await using host = await housekeeper(scriptedModel([order, 'It is on its way.']), pantry())
  expect(await host.ask('Order rice')).toEqual({ type: 'text', text: 'It is on its way.' })
  expect(host.asked).toEqual([expect.stringContaining('Allow order?')])
  expect(await readFile(join(folder, 'orders.txt'), 'utf8')).toBe('rice\n')
})

test('nothing is ordered if the person refuses', async () => {
  await using host = await housekeeper(scriptedModel([order, 'Then not.']), pantry(), false)
  expect(await host.ask('Order rice')).toEqual({ type: 'text', text: 'Then not.' })
  await expect(readFile(join(folder, 'orders.txt'))).rejects.toThrow(/ENOENT/)
})

test('a server that cannot be reached does not stop the agent', async () => {
  const broken = { pantry: { command: join(folder, 'nothing') } }
  await using host = await housekeeper(scriptedModel(['I cannot look.']), broken)
  expect(await host.ask('What is there?')).toEqual({ type: 'text', text: 'I cannot look.' })
})

describe('the settings', () => {
  test.each([
    ['not JSON', /mcp\.json cannot be read: /],
    ['{}', /mcp\.json must have an object "mcpServers"/],
  ])('mcp.json that is %s is refused', async (text, message) => {
    await writeFile(join(folder, 'mcp.json'), text)
    expect(() => readConfig([], {}, folder)).toThrow(message)
  })

  test('a port that is not one is refused', () => {
    expect(() => readConfig([], { PORT: 'high' }, root)).toThrow('PORT must be a port, got high')
  })
})

test('a person answers the fields that a form needs', async () => {
  const requestedSchema = {
    properties: { sure: { type: 'boolean' }, count: { type: 'integer', title: 'How many' }, why: { type: 'string' } },
    required: ['sure', 'count'],
  }
  const said = ['yes', '3']
  const asked: string[] = []
  const ask = async (question: string) => {
    asked.push(question)
    return said.shift()
  }
  expect(await answersFor({ message: 'Order?', requestedSchema }, ask)).toEqual({ sure: true, count: 3 })
  expect(asked).toEqual(['? Order? sure [y/n] ', '? Order? How many: '])
  expect(await answersFor({ message: 'Order?', requestedSchema }, ask)).toBeUndefined()
})
