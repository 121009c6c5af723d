import { isLegacyRequest } from '@modelcontextprotocol/server'
import type { McpHandler } from '@troupe/mcp/server'

/** The same server as one that does not know 2026-07-28: a client has to begin a session. */
export function statefulOnly(handler: McpHandler): McpHandler {
  const serve = async (request: Request): Promise<Response> => {
    const body = request.method === 'POST' ? await request.clone().json() : undefined
    if (await isLegacyRequest(request, body)) return handler(request)
    const error = { code: -32_000, message: 'Bad Request: no session' }
    return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 400 })
  }
  const { authenticates, serverFor, open, stop } = handler
  const dispose = () => handler[Symbol.asyncDispose]()
  return Object.assign(serve, { authenticates, serverFor, open, stop, [Symbol.asyncDispose]: dispose })
}
