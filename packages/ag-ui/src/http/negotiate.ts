import { KernelError } from '@troupe/kernel'

/** The media types that a stream is sent in, the default first. */
export const SSE = 'text/event-stream'
export const PROTOBUF = 'application/vnd.ag-ui.event+proto'

/** The encoding that a request accepts. Contract: throws `NOT_ACCEPTABLE` if it is neither SSE nor protobuf. */
export function acceptedBy({ headers }: Request): typeof SSE | typeof PROTOBUF {
  const type = negotiate(headers.get('accept'))
  if (type) return type
  throw new KernelError('NOT_ACCEPTABLE', 'accept: expected text/event-stream or application/vnd.ag-ui.event+proto')
}

interface Range {
  readonly type: string
  readonly q: number
}

/**
 * Picks the encoding of a stream. Contract: SSE unless protobuf is asked for; undefined if neither fits.
 * @example negotiate('application/vnd.ag-ui.event+proto, text/event-stream;q=0.5') // protobuf
 */
export function negotiate(accept: string | null): typeof SSE | typeof PROTOBUF | undefined {
  if (accept === null || accept.trim() === '') return SSE
  const ranges = accept.split(',').flatMap(rangeOf)
  const sse = qualityOf(SSE, ranges)
  const protobuf = qualityOf(PROTOBUF, ranges)
  if (sse.q === 0 && protobuf.q === 0) return undefined
  if (sse.q !== protobuf.q) return sse.q > protobuf.q ? SSE : PROTOBUF
  return protobuf.rank > sse.rank ? PROTOBUF : SSE
}

function rangeOf(text: string): Range[] {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  if (!/^[^\s/]+\/[^\s/]+$/.test(type)) return []
  const given = parameters.find((parameter) => /^q\s*=/.test(parameter))
  const q = given === undefined ? 1 : Number(given.slice(given.indexOf('=') + 1))
  return Number.isFinite(q) ? [{ type, q: Math.min(1, Math.max(0, q)) }] : []
}

/** The most specific range that fits decides. */
function qualityOf(type: string, ranges: readonly Range[]): { readonly q: number; readonly rank: number } {
  const family = `${type.slice(0, type.indexOf('/'))}/*`
  const names = ['*/*', family, type]
  let found = { q: 0, rank: -1 }
  for (const range of ranges) {
    const rank = names.indexOf(range.type)
    if (rank > found.rank || (rank === found.rank && rank >= 0 && range.q > found.q)) found = { q: range.q, rank }
  }
  return found
}
