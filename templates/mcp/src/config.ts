import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { McpToolsOptions } from '@troupe/mcp'

/** The settings of the app. */
export interface Config {
  /** Whether the app serves the process that has started it, and not HTTP. */
  readonly stdio: boolean
  readonly port: number
  /** The servers whose tools the agent gets, by name. */
  readonly servers: McpToolsOptions['servers']
}

export const USAGE = `Usage: npm start                                serves the agent over HTTP
       npm run stdio                            serves it over stdio, for a host that starts it
       npm run ask                              a conversation with it, as an MCP client
       npm run ask -- "What is in the pantry?"  one question

mcp.json has the servers whose tools the agent gets. PORT is the port of the server (8000).`

/** Reads arguments, environment and `mcp.json` in a folder. Throws for what it cannot use; gives nothing if the user asks for help. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Config | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { stdio: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) return undefined
  const port = Number(env.PORT || 8000)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`PORT must be a port, got ${env.PORT}`)
  return { stdio: values.stdio, port, servers: readServers(folder) }
}

/** The servers of `mcp.json`, in the form that hosts use. A command runs in the folder of the file. */
function readServers(folder: string): Config['servers'] {
  const file = join(folder, 'mcp.json')
  let servers: unknown
  try {
    servers = JSON.parse(readFileSync(file, 'utf8')).mcpServers
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
  if (typeof servers !== 'object' || servers === null) throw new Error(`${file} must have an object "mcpServers"`)
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, 'command' in server ? { cwd: folder, ...server } : server]),
  )
}
