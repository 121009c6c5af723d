import { connect, type Socket } from 'node:net'

/** A request as bytes; the pieces are sent one after the other. */
export interface RawRequest {
  readonly pieces: readonly Buffer[]
  /** How long to wait between two pieces. */
  readonly pauseMs: number
  /** Whether the client leaves before it has sent everything that it announced. */
  readonly leaves: boolean
}

/** The answer to a request. */
export interface RawAnswer {
  /** 0 if the connection was closed without an answer. */
  readonly status: number
  readonly head: string
  readonly body: string
  /** From the last byte of the request to the last one of the answer. */
  readonly ms: number
}

/** Sends bytes to a server and reads until it closes the connection. Contract: rejects if that takes longer than `limitMs`. */
export async function sendRaw(url: string, request: RawRequest, limitMs: number): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A server may close a connection before it has read everything.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await sendPieces(socket, request)
  const began = performance.now()
  const timer = setTimeout(() => socket.destroy(new Error('too late')), limitMs)
  await closed
  clearTimeout(timer)
  const ms = performance.now() - began
  if (ms >= limitMs) throw new Error(`no answer within ${limitMs} ms`)
  const text = Buffer.concat(chunks).toString('latin1').replace(INTERIM, '')
  const cut = text.indexOf('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
  return { status, head: text.slice(0, cut), body: text.slice(cut + 4), ms }
}

/** An answer that only says to go on. */
const INTERIM = /^HTTP\/1\.1 100 Continue\r\n\r\n/

async function sendPieces(socket: Socket, { pieces, pauseMs, leaves }: RawRequest): Promise<void> {
  for (const [i, piece] of pieces.entries()) {
    if (i > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    socket.write(piece)
  }
  if (leaves) socket.end(() => setTimeout(() => socket.destroy(), 20))
}
