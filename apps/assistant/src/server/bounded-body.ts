import { KernelError } from '@troupe/kernel'

/**
 * Reads the body of a request as text.
 * Contract: stops reading and throws `BODY_TOO_LARGE` above the limit, whatever the request says about its length.
 */
export async function boundedBody(request: Request, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength
      if (size > maxBytes) throw new KernelError('BODY_TOO_LARGE', `body: expected at most ${maxBytes} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    // The client left before it had sent everything.
    throw KernelError.is(error) ? error : new KernelError('VALIDATION_FAILED', 'body: expected all of it')
  }
  return Buffer.concat(chunks).toString('utf8')
}
