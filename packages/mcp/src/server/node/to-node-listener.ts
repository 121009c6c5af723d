import type { RequestListener } from 'node:http'
import { nodeListener } from '@troupe/http/node'
import { checkOption } from '@troupe/kernel/kit'
import { refuse } from '../http/json-rpc-error.ts'
import type { McpHandler } from '../mcp-server.ts'

/**
 * Serves a handler with node:http.
 * Contract: a handler without `authenticate` answers requests from this machine only.
 * @example createServer(toNodeListener(mcpHandler)).listen(8000, '127.0.0.1')
 */
export function toNodeListener(handler: McpHandler): RequestListener {
  checkHandler('toNodeListener', handler)
  return nodeListener(handler, refuse)
}

/** Contract: throws `CONFIG_INVALID` for anything that is not a handler. */
export function checkHandler(who: string, handler: McpHandler): void {
  const fine = typeof handler === 'function' && typeof handler.serverFor === 'function'
  checkOption(fine, who, 'expected the handler that mcpServer({ … }) makes', handler)
}
