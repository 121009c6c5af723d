import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { defineTool, type Tool } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { add, book, calling, echo, GENERATIONS, type Served, served } from './served.fixture.ts'

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }

/** Sends anything. */
function post(app: Served, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(app.url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-user': 'ann',
      ...headers,
    },
  })
}

/** Opens a session by hand. */
async function session(app: Served, user = 'ann'): Promise<string> {
  const response = await post(app, INITIALIZE, { 'x-user': user })
  await response.text()
  const id = response.headers.get('mcp-session-id') ?? ''
  expect(id).not.toBe('')
  return id
}

/** Sends a request with a host or origin that fetch does not allow. */
function withHeaders(app: Served, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const sent = httpRequest(app.url, { method: 'POST', headers: { ...types, ...headers } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(INITIALIZE))
  })
}

describe('owners', () => {
  it('without a user the answer is 401, or what the app answers instead', async () => {
    await using app = await served({ agents: [echo()] })
    const nobody = await fetch(app.url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    expect(nobody.status).toBe(401)
    expect(await nobody.json()).toMatchObject({ error: { code: -32_000, data: { code: 'UNAUTHENTICATED' } } })
    const challenge = () => new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
    await using other = await served({ agents: [echo()], authenticate: challenge })
    expect((await post(other, INITIALIZE)).headers.get('www-authenticate')).toBe('Bearer')
  })

  it.each(['POST', 'GET', 'DELETE'])('a session of another user does not exist: %s', async (method) => {
    await using app = await served({ agents: [echo()] })
    const id = await session(app)
    const ask = (mcpSession: string, user: string) =>
      fetch(app.url, {
        method,
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-session-id': mcpSession,
          'x-user': user,
        },
        ...(method === 'POST' && { body: JSON.stringify(LIST) }),
      })
    const foreign = await ask(id, 'eve')
    const unknown = await ask(crypto.randomUUID(), 'eve')
    expect(foreign.status).toBe(404)
    expect(await foreign.text()).toBe(await unknown.text())
    const own = await ask(id, 'ann')
    expect(own.status).toBe(200)
    await own.body?.cancel()
  })

  it.each(GENERATIONS)('a thread of another user does not exist, %s', async (generation) => {
    await using app = await served({ agents: [echo()] })
    const ann = await app.connect(generation)
    const eve = await app.connect(generation, { user: 'eve' })
    const hers = await ann.callTool({ name: 'echo', arguments: { message: 'secret' } })
    const thread = hers._meta?.['troupe/thread'] as string
    const call = (id: string) => eve.callTool({ name: 'echo', arguments: { message: 'Hi', thread: id } })
    expect((await call(thread)).content).toEqual((await call(crypto.randomUUID())).content)
    const chosen = await eve.callTool({
      name: 'echo',
      arguments: { message: 'Hi' },
      _meta: { 'troupe/thread': thread },
    })
    expect(chosen.content).toMatchObject([{ text: '1: "Hi"' }, {}])
  })

  it('users cannot be told by anything but authenticate', async () => {
    await using app = await served({ agents: [calling(book, { people: 1 })] })
    const eve = await app.connect('2026-07-28', { user: 'eve' })
    const result = await eve.callTool({
      name: 'host',
      arguments: { message: 'Hi', user: 'ann', owner: { app: 'host', user: 'ann' } },
      _meta: { user: 'ann' },
    })
    const thread = result._meta?.['troupe/thread'] as string
    const ann = await app.connect('2026-07-28')
    const looked = await ann.callTool({ name: 'host', arguments: { message: 'Hi', thread } })
    expect(looked.content).toMatchObject([{ text: expect.stringContaining('NOT_FOUND') }, ...[]])
  })
})

describe('hostile requests', () => {
  it.each([
    ['broken JSON', '{"jsonrpc":', {}, 400, -32_700],
    ['not JSON-RPC', { hello: 1 }, {}, 400, -32_600],
    ['another content type', INITIALIZE, { 'content-type': 'text/plain' }, 415, -32_000],
    ['a compressed body', INITIALIZE, { 'content-encoding': 'gzip' }, 415, -32_000],
    ['no session', LIST, {}, 400, -32_000],
    ['a guessed session', LIST, { 'mcp-session-id': '1' }, 404, -32_001],
    ['an unknown version', LIST, { 'mcp-protocol-version': '2031-01-01' }, 400, undefined],
    ['a foreign origin', INITIALIZE, { origin: 'https://evil.example' }, 403, -32_000],
    ['the origin null', INITIALIZE, { origin: 'null' }, 403, -32_000],
  ])('%s', async (_, body, headers, status, code) => {
    await using app = await served({ agents: [echo()] })
    const response = await post(app, body, headers as Record<string, string>)
    expect(response.status).toBe(status)
    const answer = (await response.json()) as { error: { code: number; message: string } }
    if (code !== undefined) expect(answer.error.code).toBe(code)
    expect(JSON.stringify(answer)).not.toMatch(/\bat .*\.[mc]?[jt]s/)
  })

  it('a body that is too large is refused before it is read', async () => {
    await using app = await served({ agents: [echo()], limits: { bodyBytes: 1_000 } })
    const response = await post(app, { ...INITIALIZE, more: 'x'.repeat(2_000) })
    expect(response.status).toBe(413)
  })

  it('a batch is bounded', async () => {
    await using app = await served({ agents: [echo()] })
    const id = await session(app)
    const batch = Array.from({ length: 1_000 }, (_, i) => ({ ...LIST, id: i }))
    const response = await post(app, batch, { 'mcp-session-id': id })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32_600 } })
  })

  it('deep arguments are an error of the call, not of the server', async () => {
    await using app = await served({ agents: [echo()], tools: [add] })
    const id = await session(app)
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const call = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":${deep}}}}`
    const response = await post(app, call, { 'mcp-session-id': id })
    expect(await response.text()).toContain('VALIDATION_FAILED')
    const client = await app.connect('2026-07-28')
    expect((await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).structuredContent).toEqual({ sum: 2 })
  })

  it('without users, only this machine under its own name', async () => {
    await using app = await served({ agents: [echo()], owner: { app: 'a', user: 'me' } })
    const port = app.url.port
    expect(await withHeaders(app, { host: 'evil.example' })).toBe(403)
    expect(await withHeaders(app, { host: 'evil.example', origin: 'http://evil.example' })).toBe(403)
    expect(await withHeaders(app, { host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200)
    const socket = connect(Number(port), '127.0.0.1')
    socket.end('DELETE / HTTP/1.0\r\n\r\n')
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toContain(' 403 ')
    await expect(
      import('@troupe/mcp/server/node').then(({ mcpHttpServer }) => mcpHttpServer(app.handler, { host: '0.0.0.0' })),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('pages of an allowed origin may call, after a preflight', async () => {
    const origin = 'https://app.example.com'
    await using app = await served({ agents: [echo()], cors: { origins: [origin] } })
    const preflight = await fetch(app.url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-session-id' },
    })
    expect(preflight.headers.get('access-control-allow-headers')).toBe('mcp-session-id')
    const response = await post(app, INITIALIZE, { origin })
    await response.text()
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toContain('mcp-session-id')
  })
})

describe('limits', () => {
  const large: Tool = defineTool({
    name: 'large',
    description: 'Says a lot.',
    parameters: { type: 'object' },
    invoke: () => 'x'.repeat(5_000),
  })

  it.each(GENERATIONS)('a result that is too large is an error, %s', async (generation) => {
    await using app = await served({ agents: [echo()], tools: [large], limits: { answerChars: 1_000 } })
    const client = await app.connect(generation)
    const result = await client.callTool({ name: 'large', arguments: {} })
    expect(result.isError).toBe(true)
    const said = await client.callTool({ name: 'echo', arguments: { message: 'x'.repeat(3_000) } })
    expect(said.content).toMatchObject([{ text: 'RESULT_TOO_LARGE: The result is too large.' }, {}])
  })

  it('sessions of a user are limited, those of others are not taken', async () => {
    await using app = await served({ agents: [echo()], limits: { sessionsPerUser: 2 } })
    await session(app)
    const second = await session(app)
    expect((await post(app, INITIALIZE)).status).toBe(429)
    await session(app, 'bob')
    const ended = await fetch(app.url, { method: 'DELETE', headers: { 'mcp-session-id': second, 'x-user': 'ann' } })
    expect(ended.status).toBe(200)
    await session(app)
  })

  it('requests and streams of a user are limited, also those that come at once', async () => {
    await using app = await served({ agents: [echo()], limits: { streamsPerUser: 1 } })
    const id = await session(app)
    const open = () =>
      fetch(app.url, {
        headers: { accept: 'text/event-stream', 'mcp-session-id': id, 'x-user': 'ann' },
      })
    const first = await open()
    expect(first.status).toBe(200)
    const refused = await open()
    expect(refused.status).toBe(429)
    await refused.text()
    await first.body?.cancel()
    await session(app, 'bob')
    const burst = await Promise.all(Array.from({ length: 20 }, () => post(app, LIST, { 'mcp-session-id': id })))
    const statuses = burst.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0)
    expect(statuses.every((status) => status === 200 || status === 429)).toBe(true)
    await Promise.all(burst.map((response) => response.text()))
    expect(app.handler.open().streams).toBe(0)
  })

  it('calls of a user are limited', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const slow = defineTool({ name: 'slow', description: '', parameters: { type: 'object' }, invoke: () => promise })
    await using app = await served({ tools: [slow, add], maxExecutionsPerUser: 1 })
    const client = await app.connect('2026-07-28')
    const running = client.callTool({ name: 'slow', arguments: {} }, { onprogress: () => undefined })
    const bob = await app.connect('2026-07-28', { user: 'bob' })
    expect((await bob.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).isError).toBeUndefined()
    const refused = await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })
    expect(refused.content).toMatchObject([{ text: expect.stringContaining('USER_LIMIT') }])
    resolve('done')
    expect((await running).content).toMatchObject([{ text: 'done' }])
  })

  it('a call that takes too long is stopped', async () => {
    const never = defineTool({
      name: 'never',
      description: '',
      parameters: { type: 'object' },
      invoke: () => new Promise<string>(() => undefined),
    })
    await using app = await served({ tools: [never], executionTimeoutMs: 50 })
    const client = await app.connect('2026-07-28')
    const result = await client.callTool({ name: 'never', arguments: {} })
    expect(result.content).toMatchObject([{ text: 'TIMEOUT: The run exceeded its time limit.' }])
  })
})
