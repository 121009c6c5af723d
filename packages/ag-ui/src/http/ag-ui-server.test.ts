import { once } from 'node:events'
import { connect } from 'node:net'
import { EventType } from '@ag-ui/core'
import { describe, expect, it } from 'vitest'
import { agUiServer } from './ag-ui-server.ts'
import { ANN, aborted, framesOf, input, served, typesOf, words } from './http.fixture.ts'
import { toNodeListener } from './to-node-listener.ts'

const headers = { 'content-type': 'application/json', authorization: 'ann' }
const send = (url: string, body: unknown) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })

describe('agUiServer', () => {
  it('serves runs over a socket', async () => {
    const { handler } = served(() => words(3))
    await using server = await agUiServer(handler)
    const response = await send(server.url, input())
    expect(typesOf(await framesOf(response)).at(-1)).toBe('RUN_FINISHED')
  })

  it('without authentication listens on loopback only and answers this machine only', async () => {
    const { handler } = served(() => words(1), { authenticate: undefined as never, owner: ANN })
    await expect(agUiServer(handler, { host: '0.0.0.0' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await using server = await agUiServer(handler)
    expect((await send(server.url, input())).status).toBe(200)
    // DNS rebinding: the name of another site resolves to this machine.
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write('GET /threads HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 403 /)
    socket.destroy()
  })

  it.each(['TRACE / HTTP/1.1', 'GET //evil/%zz?%% HTTP/1.1', 'GET /threads/%E0%A4%A HTTP/1.1', 'PUT /\\ HTTP/1.1'])(
    'answers %s with an error of ours',
    async (line) => {
      const { handler } = served(() => words(1))
      await using server = await agUiServer(handler)
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.write(`${line}\r\nhost: localhost\r\nauthorization: ann\r\nconnection: close\r\n\r\n`)
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1\.1 40[45] /)
      socket.destroy()
    },
  )

  it('refuses a body over the limit without reading all of it', async () => {
    const { handler } = served(() => words(1), { limits: { bodyBytes: 1_048_576 } })
    await using server = await agUiServer(handler)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => undefined)
    socket.write(
      'POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: ann\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    for (let i = 0; i < 40 && !answer; i++) {
      socket.write(chunk)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    socket.destroy()
  })

  it('drops a reader that takes nothing, while its run goes on and others read', async () => {
    const text = 'x'.repeat(50_000)
    const others = Promise.withResolvers<void>()
    async function* script() {
      for await (const event of words(400, text)) {
        yield event
        if (event.type === EventType.TEXT_MESSAGE_START) await others.promise
      }
    }
    const { handler, reported, store } = served(script, { limits: { drainMs: 150 } })
    await using server = await agUiServer(handler)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    const body = JSON.stringify(input())
    socket.write(
      `POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: ann\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    socket.pause()
    socket.on('error', () => undefined)
    const closed = once(socket, 'close')
    await expect
      .poll(async () => (await store.threads.get({ ...ANN, threadId: 't1' }))?.runId ?? 'ended', { timeout: 5_000 })
      .toBe('r1')
    const reader = await fetch(`${server.url}/threads/t1/runs/r1?protocolVersion=1.0`, { headers })
    others.resolve()
    const frames = await framesOf(reader)
    expect(frames).toHaveLength(404)
    expect(frames.at(-1)?.event.type).toBe('RUN_FINISHED')
    await new Promise((resolve) => setTimeout(resolve, 300))
    let taken = 0
    socket.on('data', ({ length }) => {
      taken += length
    })
    socket.resume()
    await closed
    expect(taken).toBeGreaterThan(100_000)
    expect(taken).toBeLessThan(400 * text.length)
    expect(reported).toEqual([])
  })

  it('sends keep-alive comments while nothing happens', async () => {
    const barrier = Promise.withResolvers<void>()
    const { handler } = served(
      async function* () {
        await barrier.promise
        yield { type: EventType.CUSTOM, name: 'late', value: 1 }
      },
      { limits: { keepAliveMs: 20 } },
    )
    await using server = await agUiServer(handler)
    const response = await send(server.url, input())
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.split(': ping\n\n').length > 3) barrier.resolve()
    }
    expect(text.split(': ping\n\n').length).toBeGreaterThan(3)
    expect(text).toContain('RUN_FINISHED')
  })

  it('stops: runs are cancelled, their readers get the last event, and new runs are refused', async () => {
    const { handler, store } = served(async function* (_, { signal }) {
      yield* words(1)
      await aborted(signal)
    })
    const server = await agUiServer(handler)
    const frames = framesOf(await send(server.url, input()))
    const stopped = server.stop(20)
    expect(
      (
        await handler(
          new Request('http://localhost/', { method: 'POST', headers, body: JSON.stringify(input('r2', 't2')) }),
        )
      ).status,
    ).toBe(503)
    expect((await frames).at(-1)?.event).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
    await stopped
    expect((await store.threads.get({ ...ANN, threadId: 't1' }))?.runId).toBeUndefined()
    await expect(fetch(server.url)).rejects.toThrow()
  })
})

it.each<[string, unknown]>([
  ['an agent', { name: 'a', description: '', run() {} }],
  ['a text', 'agent'],
  ['nothing', undefined],
])('refuses %s instead of a handler and names what it expects', async (_, given) => {
  const expected = /expected the handler that agUiHandler\(\{ … \}\) makes/
  await expect(agUiServer(given as never)).rejects.toThrow(expected)
  expect(() => toNodeListener(given as never)).toThrow(expected)
})
