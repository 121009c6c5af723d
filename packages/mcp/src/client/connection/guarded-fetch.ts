import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { KernelError } from '@troupe/kernel'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

type Body = ConstructorParameters<typeof Response>[0]

/** The rules for the requests to one server. */
interface FetchRules {
  readonly server: string
  /** Whether private addresses and redirects within an origin are fine. */
  readonly trusted: boolean
  readonly maxMessageBytes: number
  readonly fetch: Fetch
}

const PRIVATE = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE.addSubnet(address, bits, 'ipv4')
for (const [address, bits] of [
  // `::` and addresses that stand for others: of IPv4, of NAT64, Teredo and 6to4.
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(address, bits, 'ipv6')

/**
 * A `fetch` that reads no message beyond the limit, and that reaches public addresses only, without redirects, unless the server is trusted.
 * Contract: refuses with `MCP_ADDRESS_REFUSED`.
 */
export function guardedFetch({ server, trusted, maxMessageBytes, fetch }: FetchRules): Fetch {
  return async (url, init) => {
    if (!trusted) await checkAddress(server, new URL(url))
    const response = await fetch(url, trusted ? init : { ...init, redirect: 'manual' })
    if (!trusted && (response.type === 'opaqueredirect' || isRedirect(response.status))) {
      await response.body?.cancel()
      throw refused(server, `redirects to ${response.headers.get('location') ?? 'another address'}`)
    }
    return limited(server, response, maxMessageBytes)
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304
}

async function checkAddress(server: string, url: URL): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) ? [{ address: host }] : await lookup(host, { all: true })
  const own = addresses.find(({ address }) => isPrivate(address))
  if (own) throw refused(server, `${url.hostname} is a private address (${own.address})`)
}

function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function refused(server: string, why: string): KernelError {
  return new KernelError(
    'MCP_ADDRESS_REFUSED',
    `mcp server ${server}: ${why}; set trusted: true if the server is your own`,
    { details: { server } },
  )
}

/** The response, whose body or, in an event stream, each event is within the limit. */
function limited(server: string, response: Response, max: number): Response | Promise<Response> {
  const { body, headers } = response
  if (!body) return response
  const tooLarge = () => {
    const message = `mcp server ${server}: sent a message larger than ${max} bytes; raise maxMessageBytes if it was needed`
    return new KernelError('MCP_CALL_FAILED', message, { details: { server } })
  }
  if (headers.get('content-type')?.includes('text/event-stream'))
    return copyOf(response, limitEvents(body, max, tooLarge))
  return readAll(body, max, tooLarge).then((bytes) => copyOf(response, bytes))
}

function copyOf({ status, statusText, headers, url }: Response, body: Body): Response {
  const isEmpty = status === 204 || status === 205 || status === 304
  const copy = new Response(isEmpty ? null : body, { status, statusText, headers })
  return Object.defineProperty(copy, 'url', { value: url })
}

/** Contract: a body of one piece, which most are, is not copied. */
async function readAll(body: ReadableStream<Uint8Array>, max: number, tooLarge: () => Error): Promise<Body> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let read = 0
  for await (const piece of body) {
    read += piece.length
    if (read > max) throw tooLarge()
    pieces.push(piece as Uint8Array<ArrayBuffer>)
  }
  const [only] = pieces
  return only && pieces.length === 1 ? only : new Blob(pieces)
}

function limitEvents(body: ReadableStream<Uint8Array>, max: number, tooLarge: () => Error): ReadableStream<Uint8Array> {
  let read = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = endOfEvent(chunk)
        read = end === -1 ? read + chunk.length : chunk.length - end
        if (read <= max) controller.enqueue(chunk)
        else controller.error(tooLarge())
      },
    }),
  )
}

const LINE_FEED = 10

/** Where the last event of a chunk ends: after its last empty line. */
function endOfEvent(chunk: Uint8Array): number {
  for (let i = chunk.lastIndexOf(LINE_FEED); i > 0; i = chunk.lastIndexOf(LINE_FEED, i - 1)) {
    if (chunk[i - 1] === LINE_FEED || (chunk[i - 1] === 13 && chunk[i - 2] === LINE_FEED)) return i + 1
  }
  return -1
}
