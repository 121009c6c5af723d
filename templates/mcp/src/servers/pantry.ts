/** An MCP server over stdio. `mcp.json` says that the agent uses it; any other host can start it too. */
import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { serveStdio } from '@troupe/mcp/server/node'
import { pantryTools } from './pantry-tools.ts'

const store = memoryStore()
const handler = mcpServer({
  runner: (agent) => runner({ agent, store }),
  tools: pantryTools('orders.txt'),
  store,
  owner: { app: 'pantry', user: 'me' },
  info: { name: 'pantry', version: '1.0.0' },
})
await serveStdio(handler).closed
await store[Symbol.asyncDispose]()
