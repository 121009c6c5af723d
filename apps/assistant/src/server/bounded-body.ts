import { KernelError } from '@troupe/kernel'

/**
 * Reads the body of a request as text.
 * Contract: stops reading and throws `BODY_TOO_LARGE` above the limit, whatever the request says about its length.
 */
export async function boundedBody(request: Request, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new KernelError('BODY_TOO_LARGE', `body: expected at most ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
