import { connect, createServer, type Server, type Socket } from 'node:net'

/** The one address of several workers: a balancer of connections. */
export class Address implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets: Set<Socket> = new Set()
  #workers: readonly number[] = []
  #turn = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<Address> {
    const server = createServer()
    const address = new Address(server)
    server.on('connection', (client) => address.#forward(client, 0))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    return address
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  /** Sets the ports of the workers behind it. */
  set workers(ports: readonly number[]) {
    this.#workers = ports
  }

  #forward(client: Socket, tried: number): void {
    const port = this.#workers[this.#turn++ % Math.max(1, this.#workers.length)]
    if (port === undefined || tried >= this.#workers.length) return void client.destroy()
    const worker = connect(port, '127.0.0.1')
    let connected = false
    worker.once('connect', () => {
      connected = true
      client.pipe(worker).pipe(client)
    })
    for (const socket of [client, worker]) this.#track(socket)
    client.once('close', () => worker.destroy())
    worker.once('close', () => {
      if (connected || client.destroyed) client.destroy()
      else this.#forward(client, tried + 1)
    })
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
