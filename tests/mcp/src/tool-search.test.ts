import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { chatModelAgent } from '@troupe/chat-model'
import { toolSearch } from '@troupe/context'
import { runner } from '@troupe/flow'
import { textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpTools } from '@troupe/mcp'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { z } from 'zod'

/** A server with 200 tools, in an order that changes with each connection. */
function office(connection: number) {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'office', version: '1.0.0' })
    const numbers = Array.from({ length: 200 }, (_, i) => (i * (connection === 0 ? 1 : 7)) % 200)
    for (const n of numbers) {
      const inputSchema = z.object({ text: z.string().describe('What is written on the drawer.') })
      const description = `Opens drawer ${n} of the cabinet in the office, and reads what is in it.`
      server.registerTool(`drawer_${n}`, { description, inputSchema }, ({ text }) => ({
        content: [{ type: 'text', text: `drawer ${n}: ${text}` }],
      }))
    }
    return server
  })
  const fetch = (address: string | URL, init?: RequestInit) => handler.fetch(new Request(address, init))
  return mcpTools({ servers: { office: { url: 'https://office.test/mcp', trusted: true, maxTools: 500, fetch } } })
}

it('finds the tools of an MCP server, and keeps what it has loaded for the next run and connection', async () => {
  const store = memoryStore()
  const session = { app: 'test', user: 'ann', threadId: 't' }
  const talk = async (connection: number, turns: readonly ScriptedTurn[]) => {
    await using servers = office(connection)
    const model = scriptedModel(turns)
    const agent = chatModelAgent({ name: 'clerk', model, handlers: [servers, toolSearch({ limit: 1 })] })
    await runner({ agent, store }).query('Look it up.', { session })
    return model.requests.map(({ tools }) => tools)
  }
  const search = (query: string): ScriptedTurn => ({ toolCalls: [{ name: 'search_tools', arguments: { query } }] })
  const [first, second] = await talk(0, [
    search('drawer 137'),
    { toolCalls: [{ name: 'office_drawer_137', arguments: { text: 'keys' } }] },
    search('drawer 12'),
    'Done.',
  ])
  expect(JSON.stringify(first).length).toBeLessThanOrEqual(1_024)
  expect(second?.map(({ name }) => name)).toEqual(['search_tools', 'office_drawer_137'])
  const messages = (await store.threads.messages(session)).map(({ message }) => textOf(message.content))
  expect(messages).toContain('drawer 137: keys')

  const [later] = await talk(1, ['Done.'])
  expect(later?.map(({ name }) => name)).toEqual(['search_tools', 'office_drawer_137', 'office_drawer_12'])
})
