import { KernelError } from '@troupe/kernel'

/** Reads a JSON body. Contract: never takes more than `limit` bytes in, whatever the headers say. */
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
    throw invalid('expected JSON')
  }
}

async function readText({ body }: Request, limit: number): Promise<string> {
  if (!body) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  try {
    // Leaving the loop cancels the body.
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength
      if (size > limit) throw tooLarge(limit)
      text += decoder.decode(chunk, { stream: true })
    }
    return text + decoder.decode()
  } catch (error) {
    if (KernelError.is(error)) throw error
    throw invalid('expected all of it, in UTF-8')
  }
}

function tooLarge(limit: number): KernelError {
  return new KernelError('BODY_TOO_LARGE', `body: expected at most ${limit} bytes`)
}

function invalid(message: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `body: ${message}`, { details: { parse: true } })
}
