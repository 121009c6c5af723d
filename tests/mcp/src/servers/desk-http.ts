/** The desk over HTTP on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { deskServer } from './desk.ts'

type Handle = (request: Request) => Promise<Response>

/** A server on loopback. */
export class HttpFixture implements AsyncDisposable {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  static async start(handle: Handle, port = 0): Promise<HttpFixture> {
    const server = createServer((incoming, outgoing) => void answer(handle, incoming, outgoing))
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return new HttpFixture(server)
  }

  /** The connections that are open. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#server.getConnections((error, n) => (error ? reject(error) : resolve(n))),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** The desk for 2026-07-28, and for older clients without sessions. */
export function statelessDesk(file?: string): Handle {
  const { fetch } = createMcpHandler(() => deskServer(file))
  return (request) => fetch(request)
}

/** The desk for the stateful protocol, and how many sessions it has. */
export function statefulDesk(file?: string): { readonly handle: Handle; readonly sessions: Map<string, unknown> } {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const handle: Handle = async (request) => {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (known) return known.handleRequest(request)
    if (id !== null)
      return new Response('{"jsonrpc":"2.0","error":{"code":-32001,"message":"unknown session"},"id":null}', {
        status: 404,
      })
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    })
    await deskServer(file).connect(transport)
    return transport.handleRequest(request)
  }
  return { handle, sessions }
}

async function answer(handle: Handle, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const body = ['GET', 'DELETE'].includes(incoming.method ?? '') ? null : Readable.toWeb(incoming)
  const response = await handle(
    new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
      body: body as ReadableStream | null,
      duplex: 'half',
      signal: gone.signal,
    } as RequestInit),
  ).catch((error: unknown) => new Response(String(error), { status: 500 }))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.flushHeaders()
  if (!response.body) return void outgoing.end()
  Readable.fromWeb(response.body as never)
    .on('error', () => outgoing.destroy())
    .pipe(outgoing)
}
