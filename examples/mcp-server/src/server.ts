import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { serveStdio } from '@troupe/mcp/server/node'
import { sqliteStore } from '@troupe/store-sqlite'
import { bookFerry, departures } from './ferries.ts'

// With a file, a question can be answered after the server was started again.
const [, , path] = process.argv
const store = path ? sqliteStore({ path }) : memoryStore()
const handler = mcpServer({
  runner: (agent) => runner({ agent, store }),
  tools: [departures, bookFerry],
  store,
  owner: { app: 'ferries', user: 'me' },
  info: { name: 'ferries', version: '1.0.0' },
  instructions: 'The ferries of the harbour. Look up departures before you book.',
})
await serveStdio(handler).closed
await store[Symbol.asyncDispose]()
