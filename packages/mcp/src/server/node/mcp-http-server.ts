import type { HttpServer, HttpServerOptions } from '@troupe/http'
import { listen } from '@troupe/http/node'
import type { McpHandler } from '../mcp-server.ts'
import { checkHandler, toNodeListener } from './to-node-listener.ts'

/** The options of a server. */
export type McpHttpServerOptions = HttpServerOptions

/** A server that listens. Contract: every path of its address is served. */
export type McpHttpServer = HttpServer

/**
 * Starts a server for a handler.
 * Contract: rejects with `CONFIG_INVALID` if a handler without `authenticate` could be reached from another machine.
 * @example await using server = await mcpHttpServer(mcpHandler, { port: 8000 })
 */
export async function mcpHttpServer(handler: McpHandler, options: McpHttpServerOptions = {}): Promise<McpHttpServer> {
  checkHandler('mcpHttpServer', handler)
  return listen('mcpHttpServer', handler, toNodeListener(handler), options)
}
