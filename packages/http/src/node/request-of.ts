import type { IncomingMessage } from 'node:http'
import { alreadyRead } from '../read-json.ts'

/** A request of node:http as fetch has it. Contract: throws for a method that fetch does not know; the body is read on demand. */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', body: parsed } = incoming as IncomingMessage & { readonly body?: unknown }
  const headers = headersOf(incoming)
  const isRead = incoming.readableDidRead
  // A body parser has decoded what it has read.
  if (isRead && parsed !== undefined) headers.delete('content-encoding')
  const withBody = method !== 'GET' && method !== 'HEAD'
  // Only the path matters, and it may be anything: a full address, or slashes.
  return new Request(`http://localhost${url.startsWith('/') ? url : `/${url}`}`, {
    method,
    headers,
    signal,
    ...(withBody && { body: isRead ? readBody(parsed) : bodyOf(incoming), duplex: 'half' as const }),
  })
}

/** Contract: has the host that the client named, so that a request which named none does not look local. */
function headersOf({ headers }: IncomingMessage): Headers {
  const list = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) list.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  list.set('host', hostOf(headers))
  return list
}

/** The host that a client named, in HTTP/1 or HTTP/2. */
export function hostOf(headers: IncomingMessage['headers']): string {
  return headers.host ?? String(headers[':authority'] ?? '')
}

/** The body that something before has read, such as a body parser, and has left as `request.body`. */
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
