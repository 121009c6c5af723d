import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { Agent, KernelError } from '@troupe/kernel'
import { testHandler, testOptions } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { type McpCommand, type McpToolsOptions, type McpUrl, mcpTools, memoryTokens } from '../index.ts'

const desk = createMcpHandler(() => {
  const server = new McpServer({ name: 'desk', version: '1.0.0' })
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({
      content: [{ type: 'text', text }],
    }),
  )
  return server
})
const url: McpUrl = {
  url: 'https://desk.test/mcp',
  trusted: true,
  fetch: (address, init) => desk.fetch(new Request(address, init)),
}

testHandler('mcpTools', () => mcpTools({ servers: { desk: url } }))

const agent: Agent = { name: 'a', description: '', async *run() {} }
const settings = {
  prefix: 'x_',
  allow: ['a'],
  exclude: ['b'],
  trusted: true,
  needsApproval: false,
  resources: true,
  prompts: true,
  instructions: true,
  timeoutMs: 1,
  connectTimeoutMs: 1,
  maxMessageBytes: 1,
  maxTools: 1,
}
const command: Required<McpCommand> = { ...settings, command: 'a', args: [], env: {}, inherit: [], cwd: '.' }
const http: Required<McpUrl> = {
  ...settings,
  url: 'https://a.test',
  headers: {},
  auth: { redirectUrl: 'https://a.test' },
  fetch,
}
const all: Required<McpToolsOptions> = {
  servers: {},
  client: { name: 'a', version: '1' },
  tokens: memoryTokens(),
  sampling: agent,
  report: () => {},
}
testOptions<McpToolsOptions>('mcpTools', mcpTools, all)
testOptions<McpCommand>('a server that is a command', (server) => mcpTools({ servers: { a: server } }), command)
testOptions<McpUrl>('a server with an address', (server) => mcpTools({ servers: { a: server } }), http)

it.each<[string, unknown, string]>([
  ['no servers', {}, 'servers must be an object of servers by name'],
  ['a server that is text', { servers: { a: 'node' } }, 'expected { command } or { url }'],
  ['an address that is a path', { servers: { a: { url: '/mcp' } } }, 'url must be an address'],
  ['an address of a file', { servers: { a: { url: 'file:///etc' } } }, 'url must be an address'],
  ['an empty command', { servers: { a: { command: '' } } }, 'command must be text'],
  ['a tool list that is text', { servers: { a: { command: 'a', allow: 'b' } } }, 'allow must be a list'],
  ['a limit of none', { servers: { a: { command: 'a', maxTools: 0 } } }, 'maxTools must be a positive number'],
  ['a report that is text', { servers: {}, report: 'x' }, 'report must be a function'],
])('%s is refused', (_name, options, message) => {
  const make = () => mcpTools(options as McpToolsOptions)
  expect(make).toThrow(message)
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' } satisfies Partial<KernelError>))
})
