import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Awaitable, KernelError } from '@troupe/kernel'
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
  return (incoming, outgoing) => {
    serve(handler, incoming, outgoing).catch(() => outgoing.destroy())
  }
}

/** Contract: throws `CONFIG_INVALID` for anything that is not a handler. */
export function checkHandler(who: string, handler: McpHandler): void {
  const fine = typeof handler === 'function' && typeof handler.serverFor === 'function'
  checkOption(fine, who, 'expected the handler that mcpServer({ … }) makes', handler)
}

async function serve(handler: McpHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const controller = new AbortController()
  const gone = () => {
    if (!outgoing.writableFinished) controller.abort(new KernelError('ABORTED', 'http: the connection was closed'))
  }
  outgoing.on('close', gone)
  // Without a listener a broken connection would end the process.
  outgoing.on('error', gone)
  try {
    await send(await respond(handler, incoming, controller.signal), outgoing, controller.signal)
  } finally {
    outgoing.off('close', gone)
  }
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

function respond(handler: McpHandler, incoming: IncomingMessage, signal: AbortSignal): Awaitable<Response> {
  if (!handler.authenticates && !LOOPBACK.test(incoming.socket.remoteAddress ?? '')) {
    return refuse(new KernelError('FORBIDDEN', 'This server answers requests from its own machine only.'))
  }
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch {
    return refuse(new KernelError('METHOD_NOT_ALLOWED', 'Method not allowed.'))
  }
  return handler(request)
}

/** Contract: throws for a method that fetch does not know. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', headers, url = '/', body: parsed } = incoming as IncomingMessage & { readonly body?: unknown }
  const list = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) list.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  // The address below says nothing about the host, so a request that names none must not look local.
  if (!list.has('host')) list.set('host', String(headers[':authority'] ?? ''))
  // A body parser has decoded what it has read.
  const isRead = incoming.readableDidRead
  if (isRead) list.delete('content-encoding')
  const body = isRead ? JSON.stringify(parsed ?? null) : bodyOf(incoming)
  const withBody = method !== 'GET' && method !== 'HEAD'
  // The path may be anything.
  return new Request(`http://localhost${url.startsWith('/') ? url : `/${url}`}`, {
    method,
    headers: list,
    signal,
    ...(withBody && { body, duplex: 'half' as const }),
  })
}

/** The body of a request, read on demand. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(new Uint8Array(value))
      },
      cancel() {
        incoming.pause()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Sends a response. Contract: reads no more of it than the socket has room for; cancels it when the reader leaves. */
async function send(response: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (signal.aborted) {
    await response.body?.cancel(signal.reason)
    return
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  // Ends the wait for a socket that is full.
  const waiting = new AbortController()
  const leave = () => {
    waiting.abort(signal.reason)
    reader.cancel(signal.reason).catch(() => undefined)
  }
  signal.addEventListener('abort', leave)
  reader.closed.catch((error: unknown) => waiting.abort(error))
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      if (!outgoing.write(value)) await once(outgoing, 'drain', { signal: waiting.signal })
      if (signal.aborted) return
    }
    outgoing.end()
  } catch {
    outgoing.destroy()
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
