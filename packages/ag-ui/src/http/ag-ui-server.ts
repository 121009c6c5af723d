import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KernelError } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { AgUiHandler } from './ag-ui-handler.ts'
import { checkServed, toNodeListener } from './to-node-listener.ts'

/** The options of a server. */
export interface AgUiServerOptions {
  /** @default 0, a free port */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** How long a request may take to arrive. @default 30_000 */
  readonly requestMs?: number
}

/** A server that listens. */
export interface AgUiServer extends AsyncDisposable {
  readonly url: string
  readonly server: Server
  /** Refuses new requests, waits `graceMs` for runs to end, then cancels them; readers see how their runs end. @default 5_000 */
  stop(graceMs?: number): Promise<void>
}

/**
 * Starts a server for a handler.
 * Contract: rejects with `CONFIG_INVALID` if a handler without `authenticate` could be reached from another machine.
 * @example await using server = await agUiServer(handler, { port: 8000 })
 */
export async function agUiServer(handler: AgUiHandler, options: AgUiServerOptions = {}): Promise<AgUiServer> {
  checkOptionNames('agUiServer', options, { port: true, host: true, requestMs: true }, { hostname: 'host' })
  checkServed('agUiServer', handler)
  const { port = 0, host = '127.0.0.1', requestMs = 30_000 } = options
  if (!handler.authenticates && !/^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)) {
    throw new KernelError(
      'CONFIG_INVALID',
      `agUiServer: without authenticate, host must be a loopback address, got "${host}"`,
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
    // Readers get a moment to receive the last events of their runs.
    const sweep = setInterval(() => server.closeIdleConnections(), LAST_EVENTS_MS / 50)
    const giveUp = setTimeout(() => server.closeAllConnections(), LAST_EVENTS_MS)
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

const LAST_EVENTS_MS = 1_000
