import { KernelError } from '@troupe/kernel'

/**
 * Reads a JSON body. Contract: never takes more than `limit` bytes in, whatever the headers say.
 * @throws KernelError `CONTENT_TYPE_UNSUPPORTED`, `BODY_TOO_LARGE`, `BODY_ALREADY_READ` or `VALIDATION_FAILED`
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new KernelError('CONTENT_TYPE_UNSUPPORTED', 'body: expected content-type application/json')
  }
  const coding = request.headers.get('content-encoding')?.trim().toLowerCase()
  if (coding !== undefined && coding !== '' && coding !== 'identity') {
    throw new KernelError('CONTENT_TYPE_UNSUPPORTED', 'body: expected no content-encoding')
  }
  if (Number(request.headers.get('content-length')) > limit) throw tooLarge(limit)
  const text = await readText(request, limit)
  try {
    return JSON.parse(text)
  } catch {
    throw invalidBody('expected JSON')
  }
}

async function readText(request: Request, limit: number): Promise<string> {
  if (request.bodyUsed) throw alreadyRead()
  if (!request.body) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  // Leaving the loop cancels the body.
  for await (const chunk of untilItBreaks(request.body)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    text += decode(decoder, chunk)
  }
  return text + decode(decoder)
}

/** A body whose client may leave before its end, which is not an error of the server. */
async function* untilItBreaks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body
  } catch (error) {
    throw KernelError.is(error) ? error : invalidBody('expected all of it')
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw invalidBody('expected UTF-8')
  }
}

/** The error of a request whose body something else has read, and kept for itself. */
export function alreadyRead(): KernelError {
  const message =
    'body: something before this handler has read it; pass the request on unread, or its body as request.body'
  return new KernelError('BODY_ALREADY_READ', message)
}

function tooLarge(limit: number): KernelError {
  return new KernelError('BODY_TOO_LARGE', `body: expected at most ${limit} bytes`)
}

function invalidBody(message: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `body: ${message}`, { details: { issues: [{ path: 'body', message }] } })
}
