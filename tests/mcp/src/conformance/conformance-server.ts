import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { type McpHttpServer, mcpHttpServer } from '@troupe/mcp/server/node'
import { echo } from '../server/served.fixture.ts'
import { sdkParts } from './sdk-parts.ts'
import { troupeTools } from './troupe-tools.ts'

/** The server that the suite tests: an agent, tools, and what an app adds with the SDK. */
export function conformanceServer(): Promise<McpHttpServer> {
  const store = memoryStore()
  const handler = mcpServer({
    runner: (agent) => runner({ agent, store }),
    agents: [echo()],
    tools: troupeTools,
    store,
    owner: { app: 'conformance', user: 'suite' },
    info: { name: 'troupe-conformance', version: '1.0.0' },
    extend: sdkParts,
  })
  return mcpHttpServer(handler)
}
