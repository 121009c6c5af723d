import type { Random } from '../random.ts'
import { anything, ODD_STRINGS, spoiled, spoiledText } from './odd-json.ts'
import type { RawRequest } from './send-raw.ts'

/** The server that a request is for. */
export type FuzzTarget = 'agUi' | 'assistant'

/** A request and the server that it is for. */
export interface FuzzRequest {
  readonly target: FuzzTarget
  readonly raw: RawRequest
}

/** The parts of a request before they are bytes. */
interface Parts {
  method: string
  path: string
  headers: (readonly [name: string, value: string])[]
  body: string | undefined
}

const OWNERS = ['ann', 'bob', 'eve'] as const
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'get', 'X'] as const
const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/jsonx',
  'multipart/form-data',
  '',
  ',',
] as const
const HEADERS = [
  ['content-encoding', 'gzip'],
  ['accept', 'application/vnd.ag-ui.event+proto'],
  ['accept', 'text/html;q=0'],
  ['accept', `${'*/*,'.repeat(500)}`],
  ['last-event-id', 'r1:99999999999999999'],
  ['last-event-id', '\u00ff\u00fe:1'],
  ['x-request-id', '\u00e9'.repeat(300)],
  ['origin', 'null'],
  ['sec-fetch-site', 'cross-site'],
  ['host', 'evil.test'],
  ['host', ''],
  ['expect', '100-continue'],
  ['expect', 'else'],
  ['content-length', '5'],
  ['content-length', '-1'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'gzip'],
  ['upgrade', 'websocket'],
  ['cookie', 'a'.repeat(9_000)],
  ['x-long', 'a'.repeat(20_000)],
  ['authorization', ''],
  ['authorization', '\u00ff'],
  ['authorization', 'u'.repeat(400)],
] as const
const SEGMENTS = [
  '%00',
  '%ff',
  '%ed%a0%80',
  '%',
  '%2',
  '..',
  '%2e%2e',
  '',
  '.',
  'a'.repeat(3_000),
  '%F0%9F%92%A5',
  '*',
  '\u00e9',
]
const QUERIES = [
  'limit=0',
  'limit=-1',
  'limit=1e3',
  'limit=99999999999999999999',
  'after=x',
  'after=%00',
  'limit=1&limit=x',
  '&&=&',
]

/** Makes a request: a valid one, mostly with something wrong in it. */
export function fuzzRequest(random: Random, i: number): FuzzRequest {
  const target = random.pick(['agUi', 'assistant'] as const)
  const parts = validParts(random, target, i)
  const wrong = random.chance(0.1) ? 0 : 1 + random.below(2)
  for (let left = wrong; left > 0; left--) spoilPart(random, parts)
  return { target, raw: rawOf(random, parts) }
}

function validParts(random: Random, target: FuzzTarget, i: number): Parts {
  const thread = `t${random.below(20)}`
  const run = `r${random.below(Math.max(1, i))}`
  const headers: Parts['headers'] = [['authorization', random.pick(OWNERS)]]
  const typed: Parts['headers'] = [...headers, ['content-type', 'application/json']]
  const get = (path: string) => ({ method: 'GET', path, headers, body: undefined })
  const base = target === 'agUi' ? '' : '/agent'
  if (target === 'assistant' && random.chance(0.4)) {
    const state = JSON.stringify({ packing: [{ id: 'a', text: 'socks', packed: true, by: 'you' }] })
    return random.pick([
      get(random.pick(['/', '/index.html', '/assets/x.js', '/none.css'])),
      get('/api/about'),
      get(`/api/threads?limit=${1 + random.below(30)}`),
      get(`/api/threads/${thread}/history`),
      get(`/api/threads/${thread}/tokens`),
      { method: 'PUT', path: `/api/threads/${thread}/state`, headers: typed, body: state },
    ])
  }
  if (random.chance(0.5)) {
    return { method: 'POST', path: `${base}/`, headers: typed, body: JSON.stringify(runInput(random, thread, `r${i}`)) }
  }
  const post = (path: string) => ({ method: 'POST', path, headers: typed, body: '{}' })
  return random.pick([
    get(`${base}/capabilities`),
    get(`${base}/threads?limit=${1 + random.below(30)}&after=${random.below(5)}`),
    get(`${base}/threads/${thread}`),
    get(`${base}/threads/${thread}/messages?limit=5`),
    get(`${base}/threads/${thread}/connect`),
    get(`${base}/threads/${thread}/runs/${run}?after=${random.below(9)}`),
    post(`${base}/threads/${thread}/runs/${run}/cancel`),
    post(`${base}/threads/${thread}/runs/${run}/continue`),
    { method: 'DELETE', path: `${base}/threads/${thread}`, headers, body: undefined },
  ])
}

function runInput(random: Random, threadId: string, runId: string): object {
  const say = random.pick(['talk', 'look', 'pay', 'wire', 'order', 'clerk look', 'What is the weather in Paris?'])
  const user = { id: `u-${runId}`, role: 'user', content: random.chance(0.8) ? say : [{ type: 'text', text: say }] }
  const result = { id: `x-${runId}`, role: 'tool', toolCallId: `c${random.below(5)}`, content: 'done' }
  const tool = {
    name: 'pick',
    description: 'Picks.',
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
  }
  return {
    threadId,
    runId,
    protocolVersion: '1.0',
    messages: random.chance(0.8) ? [user] : [result, user],
    state: { packing: [], a: { b: [1, 2] } },
    tools: random.chance(0.5) ? [tool] : [],
    context: [{ description: 'd', value: 'v' }],
    forwardedProps: { a: 1 },
    ...(random.chance(0.1) && { resume: [{ interruptId: 'i', status: 'resolved', payload: { approved: true } }] }),
  }
}

function spoilPart(random: Random, parts: Parts): void {
  const kind = random.below(parts.body === undefined ? 5 : 10)
  if (kind === 0) parts.method = random.pick(METHODS)
  else if (kind === 1) parts.path = spoiledPath(random, parts.path)
  else if (kind === 2) parts.headers = [...parts.headers, random.pick(HEADERS)]
  else if (kind === 3) parts.headers = parts.headers.filter(() => random.chance(0.5))
  else if (kind === 4) {
    const [header] = parts.headers
    if (header) parts.headers = [...parts.headers, header, [header[0], random.pick(TYPES)]]
  } else if (kind < 8) parts.body = JSON.stringify(spoiled(random, parsed(parts.body))) ?? ''
  else if (kind === 8) parts.body = spoiledText(random, parts.body ?? '')
  else parts.body = random.pick(['', 'null', '[]', '7', JSON.stringify(anything(random)), '\u0000'])
}

/** Reads a body. Contract: one that is already spoiled, or too long to be walked, is a text. */
function parsed(text = ''): unknown {
  if (text.length > 4_000) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function spoiledPath(random: Random, path: string): string {
  if (random.chance(0.3)) return `${path}${path.includes('?') ? '&' : '?'}${random.pick(QUERIES)}`
  const segments = path.split('/')
  const odd = random.chance(0.3) ? encodeURIComponent(wellFormed(random.pick(ODD_STRINGS))) : random.pick(SEGMENTS)
  segments.splice(random.below(segments.length + 1), random.below(2), odd)
  const joined = segments.join('/')
  return random.chance(0.9)
    ? joined
    : random.pick(['*', 'http://evil.test/threads', '//', `${joined}#x`, `\\${joined}`])
}

function wellFormed(text: string): string {
  return text.toWellFormed()
}

function rawOf(random: Random, { method, path, headers, body }: Parts): RawRequest {
  const bytes = bodyBytes(random, body)
  const names = headers.map(([name]) => name)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...(names.includes('host') ? [] : ['host: localhost']),
    'connection: close',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  const chunked = body !== undefined && random.chance(0.15)
  if (chunked) lines.push('transfer-encoding: chunked')
  else if (bytes.length > 0) lines.push(`content-length: ${bytes.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const sent = chunked ? inChunks(random, bytes) : [bytes]
  if (random.chance(0.05) && bytes.length > 2) {
    return { pieces: [head, bytes.subarray(0, random.below(bytes.length))], pauseMs: 0, leaves: true }
  }
  // A length that is not true leaves the server waiting for the rest.
  const lies = names.includes('content-length') || names.includes('transfer-encoding') || names.includes('upgrade')
  const slow = random.chance(0.03)
  return { pieces: [head, ...(slow ? inPieces(sent) : sent)], pauseMs: slow ? 5 : 0, leaves: lies }
}

function bodyBytes(random: Random, body: string | undefined): Buffer {
  const bytes = Buffer.from(body ?? '', random.chance(0.03) ? 'utf16le' : 'utf8')
  if (bytes.length > 0 && random.chance(0.03)) bytes[random.below(bytes.length)] = 128 + random.below(128)
  return bytes
}

function inChunks(random: Random, bytes: Buffer): readonly Buffer[] {
  const cut = random.below(bytes.length + 1)
  const parts = [bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0)
  const chunks = parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  return [...chunks, Buffer.from('0\r\n\r\n')]
}

function inPieces(pieces: readonly Buffer[]): readonly Buffer[] {
  return pieces.flatMap((piece) => {
    const third = Math.ceil(piece.length / 3)
    return [piece.subarray(0, third), piece.subarray(third, 2 * third), piece.subarray(2 * third)]
  })
}
