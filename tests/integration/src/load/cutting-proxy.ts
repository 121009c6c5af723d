import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy that cuts connections. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** The number of connections that were cut. */
  readonly cuts: number
}

/**
 * Starts a proxy that passes bytes to a server and destroys a connection after a number of bytes of the answer.
 * Contract: `cutAfter` is called once per connection; undefined keeps the connection.
 */
export async function cuttingProxy(target: string, cutAfter: () => number | undefined): Promise<CuttingProxy> {
  const { port, hostname } = new URL(target)
  const sockets = new Set<Socket>()
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let left = cutAfter()
    const close = () => {
      client.destroy()
      upstream.destroy()
      sockets.delete(client)
    }
    sockets.add(client)
    for (const socket of [client, upstream]) socket.on('error', close).on('close', close)
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      if (left === undefined) {
        if (!client.write(chunk)) {
          upstream.pause()
          client.once('drain', () => upstream.resume())
        }
        return
      }
      const some = chunk.subarray(0, left)
      left -= some.length
      if (left > 0) return void client.write(some)
      cuts++
      client.write(some, () => close())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
