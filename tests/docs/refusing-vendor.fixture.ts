import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A vendor's API on loopback that refuses every request and keeps the bodies. */
export interface RefusingVendor extends AsyncDisposable {
  readonly url: string
  readonly bodies: readonly Record<string, unknown>[]
}

/** Starts an API that answers every request with this status. */
export async function refusingVendor(status: number, message: string): Promise<RefusingVendor> {
  const bodies: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(JSON.parse(body || '{}'))
    const error = { type: 'error', message, code: 'refused' }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
