import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Awaitable, KernelError } from '@troupe/kernel'
import { checkOption } from '@troupe/kernel/kit'
import type { AgUiHandler } from './ag-ui-handler.ts'
import { alreadyRead } from './read-json.ts'
import { refuse } from './refuse.ts'

/**
 * Serves a handler with node:http.
 * Contract: a handler without `authenticate` answers requests from this machine only.
 * @example createServer(toNodeListener(handler)).listen(8000, '127.0.0.1')
 */
export function toNodeListener(handler: AgUiHandler): RequestListener {
  checkServed('toNodeListener', handler)
  return (incoming, outgoing) => {
    serve(handler, incoming, outgoing).catch(() => outgoing.destroy())
  }
}

/** Contract: throws `CONFIG_INVALID` for an agent, a runner or anything else that is not a handler. */
export function checkServed(who: string, handler: AgUiHandler): void {
  checkOption(typeof handler === 'function', who, 'expected the handler that agUiHandler({ … }) makes', handler)
}

async function serve(handler: AgUiHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
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

function respond(handler: AgUiHandler, incoming: IncomingMessage, signal: AbortSignal): Awaitable<Response> {
  if (!handler.authenticates && !isLocal(incoming)) {
    const error = new KernelError('FORBIDDEN', 'This server answers requests from its own machine only.')
    return refuse(error, crypto.randomUUID())
  }
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch {
    return refuse({ code: 'METHOD_NOT_ALLOWED', message: 'This method is not supported.' }, crypto.randomUUID())
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
  // Only the path matters, and it may be anything: a full address, or slashes.
  const address = `http://localhost${url.startsWith('/') ? url : `/${url}`}`
  const withBody = method !== 'GET' && method !== 'HEAD'
  // A body parser has decoded what it has read.
  if (isRead(incoming) && parsed !== undefined) list.delete('content-encoding')
  return new Request(address, {
    method,
    headers: list,
    signal,
    ...(withBody && { body: isRead(incoming) ? readBody(parsed) : bodyOf(incoming), duplex: 'half' as const }),
  })
}

/** Whether something before has read the body, such as a body parser. */
function isRead(incoming: IncomingMessage): boolean {
  return incoming.readableDidRead
}

/** The body that a parser has left as `request.body`. */
function readBody(parsed: unknown): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (parsed instanceof Uint8Array) return new Uint8Array(parsed)
  if (parsed !== undefined) return typeof parsed === 'string' ? parsed : JSON.stringify(parsed)
  return new ReadableStream({ start: (controller) => controller.error(alreadyRead()) })
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
  const headers: Record<string, string> = {}
  for (const [name, value] of response.headers) headers[name] = value
  if (signal.aborted) {
    await response.body?.cancel(signal.reason)
    return
  }
  outgoing.writeHead(response.status, headers)
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

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/
const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/** Whether a request comes from this machine and names it as host, which blocks DNS rebinding. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  return LOOPBACK.test(socket.remoteAddress ?? '') && LOCAL_HOST.test(headers.host ?? '')
}
