import { runner } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { serveStdio } from '@troupe/mcp/server/node'
import { add, book, calling } from './served.fixture.ts'

// Started by a test as a child that speaks MCP over stdio.
const store = memoryStore()
const wait = defineTool({
  name: 'wait',
  description: 'Waits until it is stopped.',
  parameters: { type: 'object' },
  invoke: (_, { signal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        console.error('stopped')
        reject(signal.reason)
      })
    }),
})
const handler = mcpServer({
  runner: (agent) => runner({ agent, store }),
  agents: [calling(book, { people: 4 })],
  tools: [add, wait],
  store,
  owner: { app: 'stdio', user: 'me' },
})
await serveStdio(handler).closed
console.error('ended')
