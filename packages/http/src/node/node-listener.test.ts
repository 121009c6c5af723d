import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { KernelError } from '@troupe/kernel'
import { afterEach, describe, expect, it } from 'vitest'
import { readJson } from '../read-json.ts'
import { type HttpHandler, nodeListener } from './node-listener.ts'

const stops: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())))

const refuse = ({ code }: KernelError) => new Response(code, { status: code === 'FORBIDDEN' ? 403 : 405 })
const handlerOf = (handle: (request: Request) => Response | Promise<Response>, authenticates = true): HttpHandler =>
  Object.assign(handle, { authenticates })

/** Serves a listener on loopback; gives its port. */
async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(() => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    return closed
  })
  return (server.address() as AddressInfo).port
}

/** Sends lines as they are, and gives the first piece of the answer. */
async function ask(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer)
}

describe('who is served', () => {
  it.each([
    ['its own name', 'GET / HTTP/1.1\r\nhost: localhost:8000', 200],
    ['its own address', 'GET / HTTP/1.1\r\nhost: 127.0.0.1', 200],
    ['another name', 'GET / HTTP/1.1\r\nhost: evil.example', 403],
    ['a name that begins like its own', 'GET / HTTP/1.1\r\nhost: localhost.evil.example', 403],
    ['no name', 'GET / HTTP/1.0', 403],
  ])('without a sign-in, a request that names %s', async (_, lines, status) => {
    const port = await serve(
      nodeListener(
        handlerOf(() => new Response('ok'), false),
        refuse,
      ),
    )
    expect(await ask(port, `${lines}\r\nconnection: close\r\n\r\n`)).toContain(` ${status} `)
  })

  it('with a sign-in, any host; the handler sees which one', async () => {
    const hosts: (string | null)[] = []
    const handler = handlerOf(({ headers }) => {
      hosts.push(headers.get('host'))
      return new Response('ok')
    })
    const port = await serve(nodeListener(handler, refuse))
    await ask(port, 'GET / HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\n\r\n')
    await ask(port, 'GET / HTTP/1.0\r\n\r\n')
    expect(hosts).toEqual(['shop.example', ''])
  })

  it('a method that fetch does not know is refused', async () => {
    const port = await serve(
      nodeListener(
        handlerOf(() => new Response('ok')),
        refuse,
      ),
    )
    expect(await ask(port, 'TRACE / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')).toContain(' 405 ')
  })
})

describe('a body that something before has read', () => {
  const echo = handlerOf(async (request) => {
    try {
      return Response.json(await readJson(request, 1_000))
    } catch (error) {
      return new Response((error as KernelError).code, { status: 500 })
    }
  })
  /** Reads the body first, as a body parser does, and leaves this. */
  const behind = (leave: (text: string) => unknown): RequestListener => {
    const listener = nodeListener(echo, refuse)
    return async (incoming, outgoing) => {
      let text = ''
      for await (const chunk of incoming) text += chunk
      const body = leave(text)
      listener(body === undefined ? incoming : Object.assign(incoming as IncomingMessage, { body }), outgoing)
    }
  }
  it.each<[string, (text: string) => unknown, string]>([
    ['parsed', JSON.parse, '{"a":1}'],
    ['as text', (text) => text, '{"a":1}'],
    ['as bytes', Buffer.from, '{"a":1}'],
    ['nowhere', () => undefined, 'BODY_ALREADY_READ'],
  ])('is used where it was left: %s', async (_, leave, expected) => {
    const port = await serve(behind(leave))
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: '{"a":1}' })
    expect(await response.text()).toBe(expected)
  })
})

describe('a reader', () => {
  it('that leaves cancels the response and aborts the request', async () => {
    const aborted = Promise.withResolvers<unknown>()
    const cancelled = Promise.withResolvers<unknown>()
    const handler = handlerOf(({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason))
      return new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new TextEncoder().encode('piece')),
          cancel: cancelled.resolve,
        }),
      )
    })
    const port = await serve(nodeListener(handler, refuse))
    const response = await fetch(`http://127.0.0.1:${port}`)
    await response.body?.cancel()
    expect(await aborted.promise).toMatchObject({ code: 'ABORTED' })
    expect(await cancelled.promise).toMatchObject({ code: 'ABORTED' })
  })

  it('is sent no more than its socket has room for', async () => {
    const PIECE = 65_536
    const queued: number[] = []
    let outgoing: ServerResponse | undefined
    const body = () =>
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            queued.push(outgoing?.writableLength ?? 0)
            if (queued.length > 200) controller.close()
            else controller.enqueue(new Uint8Array(PIECE))
          },
        },
        { highWaterMark: 0 },
      )
    const listener = nodeListener(
      handlerOf(() => new Response(body())),
      refuse,
    )
    const port = await serve((incoming, response) => {
      outgoing = response
      listener(incoming, response)
    })
    const { byteLength } = await (await fetch(`http://127.0.0.1:${port}`)).arrayBuffer()
    expect(byteLength).toBe(200 * PIECE)
    expect(Math.max(...queued)).toBeLessThan(2 * PIECE)
  })

  it('gets a response that breaks as a connection that breaks', async () => {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('piece'))
      },
      pull: (controller) => controller.error(new Error('gone')),
    })
    const port = await serve(
      nodeListener(
        handlerOf(() => new Response(broken)),
        refuse,
      ),
    )
    await expect(fetch(`http://127.0.0.1:${port}`).then((response) => response.text())).rejects.toThrow()
  })
})
