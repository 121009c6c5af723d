import type { Server } from 'node:http'

/** The options of a server. */
export interface HttpServerOptions {
  /** @default 0, a free port */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** How long a request may take to arrive. @default 30_000 */
  readonly requestMs?: number
}

/** A server that listens. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string
  readonly server: Server
  /** Refuses new requests, waits `graceMs` for what is under way to end, then cancels it; clients receive how it ended. @default 5_000 */
  stop(graceMs?: number): Promise<void>
}
