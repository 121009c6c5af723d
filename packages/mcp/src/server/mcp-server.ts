import {
  type AuthInfo,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpServer,
} from '@modelcontextprotocol/server'
import { readJson } from '@troupe/http'
import { KernelError } from '@troupe/kernel'
import { checkOption, nextMacrotask, safeReport, systemClock } from '@troupe/kernel/kit'
import { type OfferedTool, offeredAgent, offeredTool, type RunnerOf } from './call/offered-tool.ts'
import { RunningCalls } from './call/running-calls.ts'
import { allowOrigin, checkOrigin, preflight } from './http/cors.ts'
import { isForClients, refuse } from './http/json-rpc-error.ts'
import { Sessions } from './http/sessions.ts'
import { Streams, whenEnded } from './http/streams.ts'
import { checkServerOptions, type McpServerOptions, type McpVisitor } from './mcp-server-options.ts'
import { type ServerParts, sdkServer, userKey } from './sdk-server.ts'

/** A fetch-style handler. */
export interface McpHandler extends AsyncDisposable {
  (request: Request): Promise<Response>
  /** Whether it authenticates requests; if not, serve it on loopback or over stdio only. */
  readonly authenticates: boolean
  /** Makes a server of the SDK for one user, for transports other than HTTP. Contract: without `visitor` the handler must have an `owner`. */
  serverFor(visitor?: McpVisitor): McpServer
  /** How many calls are under way, and how many sessions, and requests with their streams, are open in this process. */
  open(): { readonly calls: number; readonly sessions: number; readonly streams: number }
  /** Refuses new calls, waits `graceMs` for those under way, then cancels them and closes all sessions and streams. @default 5_000 */
  stop(graceMs?: number): Promise<void>
}

/**
 * Serves agents and tools over MCP: streamable HTTP of the stateful protocol and of 2026-07-28.
 * @example const handler = mcpServer({ runner: runner({ agent, store }), store, authenticate: (request) => userOf(request) })
 */
export function mcpServer(options: McpServerOptions): McpHandler {
  const limits = checkServerOptions(options)
  const { authenticate, owner, cors, store, clock = systemClock, executionTimeoutMs } = options
  const { maxConcurrentExecutions = 10 } = options
  const { maxExecutionsPerUser = owner ? maxConcurrentExecutions : Math.ceil(maxConcurrentExecutions / 2) } = options
  const report = safeReport(options.report)
  const calls = new RunningCalls(clock, maxConcurrentExecutions, maxExecutionsPerUser)
  const parts: ServerParts = {
    store,
    calls,
    ...(executionTimeoutMs !== undefined && { timeoutMs: executionTimeoutMs }),
    answerChars: limits.answerChars,
    answerMs: limits.answerMs,
    report,
    offered: offeredTools(options, limits.answerChars),
    options,
  }
  const sessions = new Sessions(limits, clock)
  const streams = new Streams(limits.streamsPerUser)
  const modern = createMcpHandler(({ authInfo }) => sdkServer(parts, authInfo?.extra as unknown as McpVisitor), {
    legacy: 'reject',
    keepAliveMs: limits.keepAliveMs,
  })
  let stopping = false

  const serveSession = async (request: Request, user: string, visitor: McpVisitor, body: unknown) => {
    const id = request.headers.get('mcp-session-id')
    if (id === null && !isInitializeRequest(body)) {
      throw new KernelError('VALIDATION_FAILED', 'Bad Request: Mcp-Session-Id header is required')
    }
    const session = id === null ? await sessions.open(user, sdkServer(parts, visitor)) : sessions.find(user, id)
    const release = sessions.use(session)
    try {
      const given = { parsedBody: body, authInfo: authInfoOf(visitor) }
      const response = await session.transport.handleRequest(request, given)
      if (id === null && !response.ok) await sessions.end(session)
      return whenEnded(response, release)
    } catch (error) {
      release()
      throw error
    }
  }

  const serveUser = async (request: Request, user: string, visitor: McpVisitor) => {
    const body = request.method === 'POST' ? await readJson(request, limits.bodyBytes) : undefined
    if (await isLegacyRequest(request, body)) return serveSession(request, user, visitor, body)
    return modern.fetch(request, { parsedBody: body, authInfo: authInfoOf(visitor) })
  }

  const serve = async (request: Request): Promise<Response> => {
    checkOrigin(request, cors, authenticate !== undefined)
    const preflighted = cors && preflight(request)
    if (preflighted) return preflighted
    if (!METHODS.has(request.method)) throw new KernelError('METHOD_NOT_ALLOWED', 'This method is not supported.')
    // What is under way in a session may still be answered, cancelled or closed.
    if (stopping && !request.headers.has('mcp-session-id')) {
      throw new KernelError('SERVER_STOPPING', 'The server is stopping. Try again.')
    }
    const visitor = authenticate ? await authenticate(request) : owner
    if (visitor instanceof Response) return visitor
    checkVisitor(visitor)
    const user = userKey(visitor)
    const leave = streams.enter(user)
    try {
      return whenEnded(await serveUser(request, user, visitor), leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  const handle = async (request: Request): Promise<Response> => {
    let response: Response
    try {
      response = await serve(request)
    } catch (error) {
      if (!isForClients(error)) report(KernelError.from(error))
      response = refuse(error)
    }
    return allowOrigin(cors, request, response)
  }
  const stop = async (graceMs = 5_000) => {
    stopping = true
    await calls.stopAll(graceMs)
    // The results of calls that have just ended are on their way.
    await nextMacrotask()
    await Promise.all([sessions.close(), modern.close()])
  }
  return Object.assign(handle, {
    authenticates: authenticate !== undefined,
    serverFor(visitor: McpVisitor | undefined = owner) {
      checkOption(visitor !== undefined, WHO, 'serverFor needs a visitor, because the handler has no owner', visitor)
      return sdkServer(parts, visitor as McpVisitor)
    },
    open: () => ({ calls: calls.size, sessions: sessions.size, streams: streams.size }),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  })
}

const WHO = 'mcpServer'
const METHODS = new Set(['GET', 'POST', 'DELETE'])

/** How the SDK passes a user on. */
function authInfoOf(visitor: McpVisitor): AuthInfo {
  return { token: '', clientId: visitor.user, scopes: [], extra: { ...visitor } }
}

/** What clients are offered, by name. Contract: throws `CONFIG_INVALID` if two have the same name. */
function offeredTools(options: McpServerOptions, maxChars: number): ReadonlyMap<string, OfferedTool> {
  const { runner, agents = [], tools = [], outputs = {} } = options
  const runners = typeof runner === 'function' ? agents.map(runner) : [runner]
  const list = [
    ...runners.map((one) => offeredAgent(WHO, one, outputs[one.agent.name])),
    ...tools.map((tool) => offeredTool(WHO, tool, runner as RunnerOf, maxChars)),
  ]
  const offered = new Map(list.map((tool) => [tool.name, tool]))
  for (const [i, { name }] of list.entries()) {
    checkOption(
      list.findIndex((other) => other.name === name) === i,
      WHO,
      'two agents or tools have the same name',
      name,
    )
  }
  for (const name of Object.keys(outputs)) {
    checkOption(offered.get(name)?.kind === 'agent', WHO, 'outputs has the name of no agent', name)
  }
  return offered
}

function checkVisitor(visitor: McpVisitor | undefined): asserts visitor is McpVisitor {
  if (!visitor) throw new KernelError('UNAUTHENTICATED', 'authentication required')
  const { app, user } = visitor
  if (typeof user === 'string' && user !== '' && (app === undefined || (typeof app === 'string' && app !== ''))) return
  throw new KernelError('CONFIG_INVALID', 'authenticate: expected { user } with a non-empty string')
}
