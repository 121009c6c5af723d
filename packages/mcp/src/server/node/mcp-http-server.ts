import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KernelError } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { McpHandler } from '../mcp-server.ts'
import { checkHandler, toNodeListener } from './to-node-listener.ts'

/** The options of a server. */
export interface McpHttpServerOptions {
  /** @default 0, a free port */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** How long a request may take to arrive. @default 30_000 */
  readonly requestMs?: number
}

/** A server that listens. */
export interface McpHttpServer extends AsyncDisposable {
  /** Its address; every path is served. */
  readonly url: string
  readonly server: Server
  /** Refuses new requests, waits `graceMs` for calls to end, then cancels them. @default 5_000 */
  stop(graceMs?: number): Promise<void>
}

/** How long clients have to receive the ends of their calls. */
const LAST_ANSWERS_MS = 1_000

/**
 * Starts a server for a handler.
 * Contract: rejects with `CONFIG_INVALID` if a handler without `authenticate` could be reached from another machine.
 * @example await using server = await mcpHttpServer(mcpHandler, { port: 8000 })
 */
export async function mcpHttpServer(handler: McpHandler, options: McpHttpServerOptions = {}): Promise<McpHttpServer> {
  checkOptionNames('mcpHttpServer', options, { port: true, host: true, requestMs: true }, { hostname: 'host' })
  checkHandler('mcpHttpServer', handler)
  const { port = 0, host = '127.0.0.1', requestMs = 30_000 } = options
  if (!handler.authenticates && !/^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `mcpHttpServer: without authenticate, host must be a loopback address, got "${host}"`,
    )
  }
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, toNodeListener(handler))
  server.listen(port, host)
  await once(server, 'listening')
  const { port: taken, family } = server.address() as AddressInfo
  const stop = async (graceMs = 5_000) => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeIdleConnections()
    await handler.stop(graceMs)
    const sweep = setInterval(() => server.closeIdleConnections(), LAST_ANSWERS_MS / 50)
    const giveUp = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS)
    await closed
    clearInterval(sweep)
    clearTimeout(giveUp)
  }
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${taken}`,
    server,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  }
}
