import type { Agent } from '@troupe/kernel'
import type { McpTokenStore } from './mcp-auth.ts'
import type { McpServer } from './mcp-server.ts'
import type { McpReport } from './report.ts'

/** Options of `mcpTools`. */
export interface McpToolsOptions {
  /** The servers by name. */
  readonly servers: Readonly<Record<string, McpServer>>
  /** How this app names itself to servers. @default { name: 'troupe', version: '0.0.0' } */
  readonly client?: { readonly name: string; readonly version: string }
  /** Where the tokens of sign-ins are. @default the memory of this process */
  readonly tokens?: McpTokenStore
  /** The agent that answers when a server asks for a model, inside the tool call and within its limits. @default servers cannot ask */
  readonly sampling?: Agent
  /** Receives what an operator should know: servers that are down, tools that are left out, tools that have changed. @default nobody */
  readonly report?: (report: McpReport) => void
}
