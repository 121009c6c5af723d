import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { scripted } from '../in-process-client.fixture.ts'
import { replyOf, says, serve } from './http-server.fixture.ts'

/** Sends bytes and returns the answer. Contract: the server closes the socket, or it is closed after `ms`. */
function raw(url: string, bytes: string, ms = 1_500): Promise<string> {
  const { port, hostname } = new URL(url)
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const timer = setTimeout(() => socket.destroy(), ms)
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(answer)
    })
  })
}

const hello = () => serve(scripted(Array.from({ length: 50 }, () => 'Hello.')).agent)
const head = (lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`

describe('bodies', () => {
  it('that lie about their length do not hang, crash or run', async () => {
    await using served = await hello()
    const body = JSON.stringify(says('Hi'))
    const start = [
      'POST / HTTP/1.1',
      'Host: 127.0.0.1',
      'authorization: ann',
      'content-type: application/json',
      'connection: close',
    ]
    const short = await raw(served.url, `${head([...start, `content-length: ${body.length - 5}`])}${body}`)
    expect(short).toMatch(/^HTTP\/1\.1 400/)
    const huge = await raw(served.url, head([...start, 'content-length: 99999999']))
    expect(huge).toMatch(/^HTTP\/1\.1 413/)
    const long = await raw(served.url, `${head([...start, `content-length: ${body.length + 50}`])}${body}`, 300)
    expect(long).not.toContain('RUN_STARTED')
    expect((await served.run(says('Still there?'))).end).toBe('success')
  })

  it('that are chunked are counted while they come', async () => {
    await using served = await hello()
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(65_536).fill(32))
      },
    })
    const reply = await fetch(served.url, {
      method: 'POST',
      headers: { authorization: 'ann', 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    } as RequestInit).then(replyOf, (error: unknown) => ({ status: 0, text: String(error) }))
    expect([413, 0]).toContain(reply.status)
    expect((await served.run(says('Still there?'))).end).toBe('success')
  })

  it('of other kinds are refused, with the field', async () => {
    await using served = await hello()
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const input = JSON.stringify(says('Hi'))
    const withField = (name: string, value: string) => `${input.slice(0, -1)},"${name}":${value}}`
    const cases: [string, string, number][] = [
      ['not json', '{', 400],
      ['empty', '', 400],
      ['null', 'null', 400],
      ['array', '[]', 400],
      ['deep state', withField('state', `{"a":${deep}}`), 400],
      ['deep props', withField('forwardedProps', deep), 400],
      ['deep unknown', withField('whatever', deep), 400],
      ['proto state', withField('state', '{"__proto__":{"polluted":1}}'), 400],
      ['proto nested', withField('state', '{"a":{"constructor":{"prototype":1}}}'), 400],
      ['proto top', withField('__proto__', '{"polluted":1}'), 400],
      ['proto props', withField('forwardedProps', '{"__proto__":{"polluted":1}}'), 400],
      ['huge thread', JSON.stringify(says('Hi', { threadId: 'x'.repeat(10_000) })), 400],
      ['huge run', JSON.stringify(says('Hi', { runId: 'x'.repeat(10_000) })), 400],
      ['empty thread', JSON.stringify(says('Hi', { threadId: '' })), 400],
      ['line break in run', JSON.stringify(says('Hi', { runId: 'a\n\ndata: {}' })), 400],
      ['state is text', withField('state', '"x"'), 400],
      ['big state', withField('state', JSON.stringify({ a: 'x'.repeat(300_000) })), 400],
    ]
    for (const [name, body, status] of cases) {
      const reply = await served.run(body)
      expect([name, reply.status]).toEqual([name, status])
      expect(reply.text).not.toMatch(/node_modules|\.ts:|at Object|ZodError/)
    }
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    expect((await served.run(says('Still there?'))).end).toBe('success')
  })

  it('with lone surrogates and NUL are stored and given back, or refused', async () => {
    await using served = await hello()
    const body = JSON.stringify(says('odd')).replace('"odd"', '"a\\ud800b\\u0000c"')
    const reply = await served.run(body)
    expect([reply.status, reply.end]).toEqual([200, 'success'])
    const history = await served.call('GET', '/threads/t1/messages')
    expect(history.status).toBe(200)
    const bytes = await fetch(served.url, {
      method: 'POST',
      headers: { authorization: 'ann', 'content-type': 'application/json' },
      body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
    })
    expect(bytes.status).toBe(400)
  })
})

describe('headers', () => {
  it('say what can be read: types and encodings', async () => {
    await using served = await hello()
    const asked = (headers: Record<string, string>) =>
      served.run(says('Hi'), 'ann', headers).then(({ status, headers: got }) => [status, got.get('content-type')])
    const sse = expect.stringMatching(/^text\/event-stream/)
    const proto = 'application/vnd.ag-ui.event+proto'
    expect(await asked({ accept: '*/*' })).toEqual([200, sse])
    expect(await asked({ accept: 'text/*' })).toEqual([200, sse])
    expect(await asked({ accept: 'application/json' })).toEqual([406, expect.stringContaining('json')])
    expect(await asked({ accept: '*/*;q=0' })).toEqual([406, expect.anything()])
    expect(await asked({ accept: `text/event-stream;q=0, ${proto}` })).toEqual([200, proto])
    expect(await asked({ accept: `text/event-stream;q=0, */*` })).toEqual([200, proto])
    expect(await asked({ accept: `${proto};q=0, */*` })).toEqual([200, sse])
    expect(await asked({ accept: `${proto};q=0.5, text/event-stream;q=0.4` })).toEqual([200, proto])
    expect(await asked({ accept: `TEXT/EVENT-STREAM ; Q=0.0, ${proto}; q=0.000` })).toEqual([406, expect.anything()])
    expect(await asked({ accept: `;;,,q=,${'a/b,'.repeat(2_000)}` })).toEqual([406, expect.anything()])
    expect(await asked({ 'content-type': 'text/plain' })).toEqual([415, expect.anything()])
    expect(await asked({ 'content-type': 'application/jsonx' })).toEqual([415, expect.anything()])
    expect(await asked({ 'content-type': 'text/plain; application/json' })).toEqual([415, expect.anything()])
    expect(await asked({ 'content-type': 'Application/JSON; charset=utf-8' })).toEqual([200, sse])
  })

  it('a host name of somebody else is not served where everybody is the owner', async () => {
    const { agent } = scripted(['Hello.', 'Hello.', 'Hello.'])
    await using served = await serve(agent, { authenticate: undefined, owner: { app: 'test', user: 'me' } } as never)
    for (const host of [
      'evil.example',
      'evil.example:80',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '127.0.0.1@evil.example',
      '',
    ]) {
      const answer = await raw(served.url, head(['GET /threads HTTP/1.1', `Host: ${host}`, 'connection: close']))
      expect([host, answer.slice(9, 12)]).not.toEqual([host, '200'])
    }
    for (const line of [`GET http://evil.example/threads HTTP/1.1`, 'GET //evil.example/threads HTTP/1.1']) {
      const answer = await raw(served.url, head([line, 'Host: evil.example', 'connection: close']))
      expect([line, answer.slice(9, 12)]).not.toEqual([line, '200'])
    }
    const fine = await raw(
      served.url,
      head(['GET /threads HTTP/1.1', `Host: ${new URL(served.url).host}`, 'connection: close']),
    )
    expect(fine).toMatch(/^HTTP\/1\.1 200/)
  })

  it('paths that try to be others are not found, and never a fault', async () => {
    await using served = await hello()
    await served.run(says('Hi', { runId: 'r' }))
    for (const path of [
      '/threads/%',
      '/threads/%ff',
      '/threads/%E0%A4%A',
      '/threads/t1%2fruns%2fr',
      '/threads//runs/r',
      '/nothing',
      '/__proto__',
      '/threads/__proto__',
      '/threads/constructor/messages',
      `/threads/${'x'.repeat(5_000)}`,
    ]) {
      const answer = await raw(
        served.url,
        head([`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'authorization: ann', 'connection: close']),
      )
      expect([path, answer.slice(9, 12)]).toEqual([path, expect.stringMatching(/^40[04]$/)])
    }
    for (const query of [
      'after=-1',
      'after=x',
      'after=1e999',
      'limit=-1',
      'limit=x',
      'limit=999999999',
      'after=0.5',
      'after=9007199254740993',
    ]) {
      for (const route of ['/threads', '/threads/t1/messages', '/threads/t1/runs/r']) {
        const reply = await Promise.race([
          served.call('GET', `${route}?${query}`),
          new Promise<{ status: number; text: string }>((resolve) =>
            setTimeout(resolve, 2_000, { status: 599, text: 'hangs' }),
          ),
        ])
        expect([route, query, reply.status < 500]).toEqual([route, query, true])
      }
    }
    expect((await served.call('PUT', '/threads/t1')).status).toBe(405)
  })
})
