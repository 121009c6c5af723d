import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type OAuthClientProvider, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Owner } from '@troupe/kernel'
import type { McpCommand, McpUrl } from '../settings/mcp-server.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { endLostRequests } from './lost-answers.ts'

const MAX_MESSAGE_BYTES = 10_000_000

/** A transport to a child process. Contract: the process gets the listed variables and no others. */
export function childTransport(server: McpCommand): StdioClientTransport {
  const { command, args = [], env, inherit = [], cwd, maxMessageBytes = MAX_MESSAGE_BYTES } = server
  const inherited = inherit.map((name) => [name, process.env[name]] as const)
  // The SDK adds variables of its own; a value that is undefined takes one out again.
  const none = DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined] as const)
  return new StdioClientTransport({
    command: pathOf(command),
    args: [...args],
    env: { ...Object.fromEntries([...none, ...inherited]), ...env } as Record<string, string>,
    stderr: 'ignore',
    maxBufferSize: maxMessageBytes,
    ...(cwd !== undefined && { cwd }),
  })
}

/** Where a command is, as the process that starts has no `PATH`. */
function pathOf(command: string): string {
  if (command.includes('/') || process.platform === 'win32') return command
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, command))
  return paths.find(isExecutable) ?? command
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A transport over HTTP for one owner. */
export async function httpTransport(
  name: string,
  server: McpUrl,
  owner: Owner,
  authProvider: OAuthClientProvider | undefined,
): Promise<Transport> {
  const { url, headers = {} } = server
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: httpFetch(name, server),
    requestInit: { headers: typeof headers === 'function' ? await headers(owner) : headers },
    ...(authProvider && { authProvider }),
  })
  return endLostRequests(transport)
}

/** The `fetch` for everything that is asked of a server and of those that sign its users in. */
export function httpFetch(name: string, server: McpUrl): ReturnType<typeof guardedFetch> {
  const { trusted = false, maxMessageBytes = MAX_MESSAGE_BYTES, fetch = globalThis.fetch } = server
  return guardedFetch({ server: name, trusted, maxMessageBytes, fetch })
}
