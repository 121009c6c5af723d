import type { HttpServer, HttpServerOptions } from '@troupe/http'
import { listen } from '@troupe/http/node'
import type { AgUiHandler } from './ag-ui-handler.ts'
import { checkServed, toNodeListener } from './to-node-listener.ts'

/** The options of a server. */
export type AgUiServerOptions = HttpServerOptions

/** A server that listens. Contract: when it stops, readers see how their runs end. */
export type AgUiServer = HttpServer

/**
 * Starts a server for a handler.
 * Contract: rejects with `CONFIG_INVALID` if a handler without `authenticate` could be reached from another machine.
 * @example await using server = await agUiServer(handler, { port: 8000 })
 */
export async function agUiServer(handler: AgUiHandler, options: AgUiServerOptions = {}): Promise<AgUiServer> {
  checkServed('agUiServer', handler)
  return listen('agUiServer', handler, toNodeListener(handler), options)
}
