import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { type JsonObject, type JsonSchema, KernelError, type Owner, type Store } from '@troupe/kernel'
import { type CallParts, callTool } from './call/call-tool.ts'
import type { OfferedTool } from './call/offered-tool.ts'
import { isOurState, questionsOf } from './call/request-state.ts'
import type { McpServerOptions, McpVisitor } from './mcp-server-options.ts'

/** What every server of one `mcpServer` is made of. */
export interface ServerParts extends CallParts {
  readonly store: Pick<Store, 'threads'>
  readonly offered: ReadonlyMap<string, OfferedTool>
  readonly options: Pick<McpServerOptions, 'info' | 'instructions' | 'extend'>
  readonly answerMs: number
}

/** The server of one request or connection, for one user. */
export function sdkServer(parts: ServerParts, visitor: McpVisitor): McpServer {
  const { offered, options, store, answerMs } = parts
  const { info, instructions, extend } = options
  const [first] = offered.values()
  const ownerFor = (tool: OfferedTool) => ownerOf(tool, visitor)
  const verify = async (state: string) => {
    // Tools of the app may have states of their own.
    if (!isOurState(state) && extend) return undefined
    const questions = await questionsOf(state, (name) => offered.get(name), ownerFor, store.threads)
    if (questions) return questions
    throw new KernelError('INTERRUPT_UNKNOWN', 'requestState: no such open question')
  }
  const server = new McpServer(info ?? { name: first?.name ?? 'troupe', version: '0.0.0' }, {
    capabilities: { tools: { listChanged: false } },
    ...(instructions !== undefined && { instructions }),
    requestState: { verify },
    inputRequired: { roundTimeoutMs: answerMs },
  })
  for (const tool of offered.values()) register(server, tool, parts, visitor)
  extend?.(server, visitor)
  return server
}

function register(server: McpServer, offered: OfferedTool, parts: CallParts, visitor: McpVisitor): void {
  const { name, title, description, inputSchema, outputSchema, annotations } = offered
  const call = (args: unknown, ctx: ServerContext) => {
    // A session has many requests, each of which was authenticated.
    const { prepare } = (ctx.http?.authInfo?.extra as unknown as McpVisitor | undefined) ?? visitor
    return callTool(parts, {
      offered,
      owner: ownerOf(offered, visitor),
      user: userKey(visitor),
      args: args as JsonObject,
      ctx,
      capabilities: capabilitiesOf(ctx) ?? server.server.getClientCapabilities(),
      ...(prepare && { prepare }),
    })
  }
  const config = {
    description,
    inputSchema: passedOn(inputSchema),
    ...(title !== undefined && { title }),
    ...(outputSchema && { outputSchema: passedOn(outputSchema) }),
    ...(annotations && { annotations }),
  }
  server.registerTool(name, config, call)
}

/** The owner of what a tool does. Contract: the calls of a tool are apart from the conversations of its app. */
function ownerOf({ name, kind }: OfferedTool, { app, user }: McpVisitor): Owner {
  if (app === undefined) return { app: name, user }
  return { app: kind === 'tool' ? `${app}/${name}` : app, user }
}

/** What the client of one request can do, where each request says so. */
function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities | undefined {
  return (mcpReq.envelope as Record<string, ClientCapabilities> | undefined)?.[CLIENT_CAPABILITIES_META_KEY]
}

/** One user of one app, for limits. */
export function userKey({ app, user }: McpVisitor): string {
  return JSON.stringify([app, user])
}

/** A schema for clients; the run itself checks what they send. */
function passedOn(schema: JsonSchema): StandardSchemaWithJSON {
  const json = () => schema
  const validate = (value: unknown) => ({ value })
  return { '~standard': { version: 1, vendor: 'troupe', validate, jsonSchema: { input: json, output: json } } }
}
