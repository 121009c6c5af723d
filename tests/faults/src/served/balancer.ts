import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from '../random.ts'

/** A load balancer on loopback. Contract: a request that a server has not taken goes to another one; one that was sent is never repeated. */
export class Balancer implements AsyncDisposable {
  readonly #server: Server
  readonly #random: Random
  readonly #upstreams: Set<string> = new Set()
  url = ''

  private constructor(random: Random) {
    this.#random = random
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing))
  }

  static async start(random: Random): Promise<Balancer> {
    const balancer = new Balancer(random)
    balancer.#server.listen(0, '127.0.0.1')
    await once(balancer.#server, 'listening')
    balancer.url = `http://127.0.0.1:${(balancer.#server.address() as AddressInfo).port}`
    return balancer
  }

  add(url: string): void {
    this.#upstreams.add(url)
  }

  remove(url: string): void {
    this.#upstreams.delete(url)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url, headers } = incoming
    const upstream = this.#random.pick([...this.#upstreams])
    const passed = request(new URL(url ?? '/', upstream), { method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => outgoing.destroy()).pipe(outgoing)
    })
    passed.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && !outgoing.headersSent) this.#pass(incoming, outgoing)
      else outgoing.destroy()
    })
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  }
}
