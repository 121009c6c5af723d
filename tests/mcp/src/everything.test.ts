import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { chatModelAgent } from '@troupe/chat-model'
import type { Json, Tool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { type McpServer, mcpTools } from '@troupe/mcp'
import { scriptedModel, testTool } from '@troupe/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { runnerFor, SESSION } from './agent.fixture.ts'

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

/** Arguments for every tool that the server offers; the others of its files need tasks or roots of a client, which the protocol has given up. */
const ARGS: { readonly [tool: string]: Json } = {
  echo: { message: 'Hi' },
  'get-annotated-message': { messageType: 'success' },
  'get-env': {},
  'get-resource-links': {},
  'get-resource-reference': { resourceType: 'Text', resourceId: 1 },
  'get-structured-content': { location: 'New York' },
  'get-sum': { a: 1, b: 2 },
  'get-tiny-image': {},
  'gzip-file-as-resource': { data: 'data:text/plain;base64,SGk=', outputType: 'resource' },
  'toggle-simulated-logging': {},
  'toggle-subscriber-updates': {},
  'trigger-elicitation-request': {},
  'trigger-long-running-operation': { duration: 0.1, steps: 2 },
  'trigger-sampling-request': { prompt: 'Say hello.' },
  'simulate-research-query': { topic: 'bread' },
  'trigger-url-elicitation': { url: 'https://example.org/' },
}

const port = await freePort()
const http = spawn(process.execPath, [program, 'streamableHttp'], {
  env: { PORT: String(port) },
  stdio: ['ignore', 'ignore', 'pipe'],
})
await once(http.stderr, 'data')
const sampling = chatModelAgent({ name: 'sampling', model: scriptedModel(['Hello.'], { repeat: true }) })
const stdio = { command: process.execPath, args: [program, 'stdio'] }
afterAll(async () => {
  http.kill()
  await once(http, 'exit')
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return free
}

const servers: [string, McpServer][] = [
  ['stdio', { ...stdio, trusted: true, prefix: '' }],
  ['HTTP', { url: `http://127.0.0.1:${port}/mcp`, trusted: true, prefix: '' }],
]
for (const [name, server] of servers) {
  const handler = mcpTools({ servers: { everything: server }, sampling })
  const tools = await toolsOf(handler)
  describe(`server-everything over ${name}`, () => {
    afterAll(() => handler[Symbol.asyncDispose]())

    it('has its tools', () => {
      expect(tools.map((tool) => tool.name).sort()).toEqual(Object.keys(ARGS).sort())
    })

    it('may ask a person to open a page before it begins', async () => {
      const args = { url: 'https://example.org/', errorPath: true, elicitationId: name }
      const { query, resume } = runnerFor(handler, [[{ name: 'trigger-url-elicitation', arguments: args }]])
      const asked = await query('Go', { session: SESSION })
      expect(asked.interrupts).toMatchObject([{ metadata: { url: 'https://modelcontextprotocol.io' } }])
      const again = await resume({ [asked.interrupts?.[0]?.id ?? '']: {} }, { session: SESSION })
      expect(again.interrupts).toMatchObject([{ metadata: { url: 'https://example.org/' } }])
      const done = await resume({ [again.interrupts?.[0]?.id ?? '']: {} }, { session: SESSION })
      expect(JSON.stringify(done.messages.find(({ role }) => role === 'tool')?.content)).toContain('accept')
    })

    for (const tool of tools) testTool(tool.name, () => tool, { args: ARGS[tool.name] as Json })
  })
}

async function toolsOf(handler: ReturnType<typeof mcpTools>): Promise<readonly Tool[]> {
  let found: readonly Tool[] = []
  const look = {
    name: 'look',
    beforeAgent: (_ctx: unknown, { tools }: { tools: { tool: Tool }[] }) => {
      found = tools.map(({ tool }) => tool)
    },
  }
  await startRun(chatModelAgent({ name: 'guide', model: scriptedModel(['Hi.']), handlers: [handler, look] }), 'Hi')
  return found
}
