import type { Awaitable, Owner, RunContext } from '@troupe/kernel'
import type { McpAuth } from './mcp-auth.ts'

/** The settings of a server, whatever carries its messages. */
interface McpServerSettings {
  /** Stands before the names of the server's tools; `''` keeps their names, and a name that is taken gets the default. @default the name of the server and `_` */
  readonly prefix?: string
  /** The tools to offer, by the server's names. @default all */
  readonly allow?: readonly string[]
  /** The tools to leave out. @default none */
  readonly exclude?: readonly string[]
  /** The server is the app's own: what it says of its tools (`readOnlyHint`, `idempotentHint`) decides `kind` and `effect`, its calls need no approval, and it may have a private address. @default false */
  readonly trusted?: boolean
  /** Whether a call asks a person first. @default true, unless the server is trusted */
  readonly needsApproval?: boolean | ((tool: string, args: unknown, ctx: RunContext) => Awaitable<boolean>)
  /** Adds two tools that list and read the server's resources. @default false */
  readonly resources?: boolean
  /** Adds a tool for each prompt of the server. @default false */
  readonly prompts?: boolean
  /** Adds the server's own instructions to that of the agent, at most 2,000 characters. @default false */
  readonly instructions?: boolean
  /** How long a call may take without a sign of life; progress counts as one. @default 60_000 */
  readonly timeoutMs?: number
  /** How long it may take to connect and to list. @default 30_000 */
  readonly connectTimeoutMs?: number
  /** The largest message that is read. @default 10_000_000 */
  readonly maxMessageBytes?: number
  /** The largest number of tools. @default 500 */
  readonly maxTools?: number
}

/** A server that runs as a child process and speaks over stdin and stdout. */
export interface McpCommand extends McpServerSettings {
  /** A path, or a name that is looked up in the `PATH` of this process. */
  readonly command: string
  readonly args?: readonly string[]
  /** The whole environment of the process, beside `inherit`. @default {} */
  readonly env?: Readonly<Record<string, string>>
  /** The names of variables that the process gets from this one. @default none */
  readonly inherit?: readonly string[]
  readonly cwd?: string
}

/** A server that is reached over HTTP. */
export interface McpUrl extends McpServerSettings {
  readonly url: string
  /** Sent with every request; a function gives each owner its own. */
  readonly headers?: Readonly<Record<string, string>> | ((owner: Owner) => Awaitable<Readonly<Record<string, string>>>)
  /** How a person signs in. @default nobody signs in */
  readonly auth?: McpAuth
  /** @default the `fetch` of the platform */
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** A server whose tools an agent gets. */
export type McpServer = McpCommand | McpUrl

/** Whether a server runs as a child process. */
export function isCommand(server: McpServer): server is McpCommand {
  return 'command' in server
}
