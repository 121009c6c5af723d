import { userInfo } from 'node:os'
import { mcpTools } from '@troupe/mcp'
import { mcpServer } from '@troupe/mcp/server'
import { type Registrations, singleton } from '../app.ts'

/** Both sides of MCP: the tools that the agent gets, and the agent as a tool for others. */
export const mcpModule: Registrations<'tools' | 'mcp'> = {
  // stdout belongs to the protocol when the app is served over stdio, so reports go to stderr.
  tools: singleton(({ config }) =>
    mcpTools({ servers: config.servers, report: (report) => process.stderr.write(`${JSON.stringify(report)}\n`) }),
  ),
  mcp: singleton(({ runner, store }) =>
    mcpServer({
      runner,
      store,
      // Only requests of this machine are answered, and all are this user's. For several users, replace it by `authenticate`.
      owner: { app: 'housekeeper', user: userInfo().username },
    }),
  ),
}
