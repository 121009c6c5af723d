import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KernelError } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { HttpServer, HttpServerOptions } from '../http-server.ts'
import type { HttpHandler } from './node-listener.ts'

/** A handler that can end what is under way. */
interface StoppableHandler extends HttpHandler {
  stop(graceMs?: number): Promise<void>
}

/** How long clients have to receive the ends of what was under way. */
const LAST_ANSWERS_MS = 1_000
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/**
 * Starts a server for a handler and its listener.
 * Contract: rejects with `CONFIG_INVALID` if a handler that does not authenticate could be reached from another machine.
 */
export async function listen(
  who: string,
  handler: StoppableHandler,
  listener: RequestListener,
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  checkOptionNames(who, options, { port: true, host: true, requestMs: true }, { hostname: 'host' })
  const { port = 0, host = '127.0.0.1', requestMs = 30_000 } = options
  if (!handler.authenticates && !LOOPBACK_HOST.test(host)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `${who}: without authenticate, host must be a loopback address, got "${host}"`,
    )
  }
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, listener)
  server.listen(port, host)
  await once(server, 'listening')
  const { port: taken, family } = server.address() as AddressInfo
  const stop = async (graceMs?: number) => {
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
