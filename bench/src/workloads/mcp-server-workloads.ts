import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { runner } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import type { Workload } from '../measure.ts'

type Handle = (request: Request) => Promise<Response>

const CALLS = 100
const ADDRESS = 'http://localhost/mcp'
const NUMBERS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const
const ADD = { name: 'add', arguments: { a: 1, b: 2 } }

/** The server of the SDK with one tool. */
function bareServer(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1' })
  const inputSchema = fromJsonSchema<{ a: number; b: number }>(NUMBERS)
  server.registerTool('add', { description: 'Adds.', inputSchema }, ({ a, b }) => {
    const structuredContent = { sum: a + b }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  return server
}

/** The same tool, served by us. */
function ownServer(): Handle {
  const store = memoryStore()
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    parameters: NUMBERS,
    invoke: ({ a, b }) => ({ sum: a + b }),
  })
  const owner = { app: 'bench', user: 'me' }
  return mcpServer({ runner: (agent) => runner({ agent, store }), tools: [add], store, owner })
}

/** A session of the SDK's server. */
function bareSession(): Handle {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => 'session' })
  const connected = bareServer().connect(transport)
  return async (request) => {
    await connected
    return transport.handleRequest(request)
  }
}

/** Gives the request of a call as the client of the SDK makes it, to be made again and again. */
async function callOf(handle: Handle, mode: 'legacy' | { readonly pin: string }): Promise<() => Request> {
  let call: RequestInit | undefined
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } })
  const fetch = (url: string | URL, init?: RequestInit) => {
    if (String(init?.body).includes('"tools/call"')) call = init
    return handle(new Request(url, init))
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(ADDRESS), { fetch }))
  await client.callTool(ADD)
  const { method = 'POST', headers = {}, body = null } = call ?? {}
  return () => new Request(ADDRESS, { method, headers, body })
}

/** Calls of a tool that is served, beside the server of the SDK alone, without a network. */
export async function mcpServerWorkloads(): Promise<readonly Workload[]> {
  const bare = createMcpHandler(bareServer)
  const modern = await workload('2026-07-28', { pin: '2026-07-28' }, (request) => bare.fetch(request))
  return [modern, await workload('in a session', 'legacy', bareSession())]
}

async function workload(name: string, mode: 'legacy' | { readonly pin: string }, bare: Handle): Promise<Workload> {
  const own = ownServer()
  const [bareCall, ownCall] = [await callOf(bare, mode), await callOf(own, mode)]
  const calls = async (handle: Handle, call: () => Request) => {
    for (let i = 0; i < CALLS; i++) {
      const answer = await (await handle(call())).text()
      if (!answer.includes('"sum":3')) throw new Error(`bench: expected a sum of 3, got ${answer}`)
    }
  }
  return {
    name: `a call to an MCP server, ${name}, beside the SDK alone`,
    unit: 'call',
    units: CALLS,
    handWritten: () => calls(bare, bareCall),
    troupe: () => calls(own, ownCall),
  }
}
