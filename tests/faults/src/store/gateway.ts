import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** A way to PostgreSQL over loopback that can be closed. */
export class Gateway implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets: Set<Socket> = new Set()
  #state: 'open' | 'cut' | 'stalled' = 'open'
  /** The address of the database behind it. */
  readonly url: string

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start(target: string): Promise<Gateway> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = new URL(target)
    const upstream = upstreamOf(address)
    address.searchParams.delete('host')
    address.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const gateway = new Gateway(server, address.href)
    server.on('connection', (client) => gateway.#pass(client, upstream))
    return gateway
  }

  /** Drops all connections and refuses new ones, or lets no byte through. */
  close(how: 'cut' | 'stalled'): void {
    this.#state = how
    for (const socket of this.#sockets) how === 'cut' ? socket.destroy() : socket.pause()
  }

  open(): void {
    this.#state = 'open'
    for (const socket of this.#sockets) socket.resume()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #pass(client: Socket, upstream: NetConnectOpts): void {
    if (this.#state === 'cut') return void client.destroy()
    const server = connect(upstream)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      if (this.#state === 'stalled') from.pause()
    }
  }
}

function upstreamOf({ hostname, port, searchParams }: URL): NetConnectOpts {
  const folder = searchParams.get('host')
  const number = Number(port || 5432)
  return folder?.startsWith('/') ? { path: join(folder, `.s.PGSQL.${number}`) } : { host: hostname, port: number }
}
