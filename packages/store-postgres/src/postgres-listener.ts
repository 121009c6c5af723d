import { Socket } from 'node:net'
import { systemClock } from '@troupe/kernel/kit'
import { Client, type ClientConfig } from 'pg'

/** The options of a listener. */
interface PostgresListenerOptions {
  readonly config: ClientConfig
  readonly channel: string
  /** Sends a payload to all listeners, over a connection of the pool. */
  readonly send: (payload: string) => Promise<void>
  readonly onPayload: (payload: string) => void
  /** Called when notifications begin or cease to arrive. */
  readonly onReceiving: (receiving: boolean) => void
  /** Whether a follower waits. */
  readonly wanted: () => boolean
}

/** How long an echo may take to come back. */
const ECHO_MS = 3000
/** How often the connection is tested. */
const HEARTBEAT_MS = 30_000
/** How long a server may take to close a connection. */
const CLOSE_MS = 1000
const RETRY_MS = { first: 500, most: 30_000 } as const

/**
 * Receives the notifications of other processes over a connection of its own.
 * Contract: counts as receiving only after an echo sent over another connection has come back: behind a transaction pooler LISTEN
 * succeeds, but no notification ever arrives.
 */
export class PostgresListener {
  readonly #options: PostgresListenerOptions
  /** Ends the current wait of the loop. */
  #wake = () => {}
  #running = false
  #closed = false
  #loop: Promise<void> = Promise.resolve()
  /** The socket of a connection that is being made. */
  #socket: Socket | undefined
  #echoes = 0

  constructor(options: PostgresListenerOptions) {
    this.#options = options
  }

  /** Begins to listen, unless it already does. */
  start(): void {
    if (this.#running || this.#closed) return
    this.#running = true
    this.#loop = this.#run()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
    this.#socket?.destroy(new Error('postgres-listener: closed'))
    await this.#loop
  }

  async #run(): Promise<void> {
    for (let pause: number = RETRY_MS.first; !this.#closed; pause = Math.min(pause * 2, RETRY_MS.most)) {
      if (await this.#listen()) pause = RETRY_MS.first
      if (!this.#closed) await this.#wait(pause)
      // Not needed while no follower waits; `start` is called when one does.
      if (!this.#options.wanted()) break
    }
    this.#running = false
  }

  /** Listens until the connection is lost; false if no echo ever came back. */
  async #listen(): Promise<boolean> {
    const { config, channel, onPayload, onReceiving } = this.#options
    const socket = new Socket()
    const client = new Client({ ...config, stream: () => socket })
    let [lost, received] = [false, false]
    let echo = ''
    let echoed = false
    const lose = () => {
      lost = true
      this.#wake()
    }
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ payload = '' }) => {
      if (payload !== echo) return onPayload(payload)
      echoed = true
      this.#wake()
    })
    const answers = async () => {
      echoed = false
      echo = `echo ${process.pid} ${systemClock.now()} ${++this.#echoes}`
      await this.#options.send(echo)
      if (!echoed && !lost) await this.#wait(ECHO_MS)
      return echoed
    }
    try {
      this.#socket = socket
      await client.connect()
      await client.query(`listen "${channel}"`)
      this.#socket = undefined
      while (!lost && !this.#closed && (await answers())) {
        received = true
        onReceiving(true)
        if (!lost && !this.#closed) await this.#wait(HEARTBEAT_MS)
      }
    } catch {
      // Followers poll while nothing is received, and their own queries throw the error.
    }
    onReceiving(false)
    // A server that does not answer must not delay closing the store.
    const giveUp = systemClock.after(CLOSE_MS, () => socket.destroy())
    if (!lost) await client.end().catch(() => {})
    giveUp()
    return received
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        this.#wake = () => {}
        resolve()
      }
      const cancel = systemClock.after(ms, done, false)
      this.#wake = done
      if (this.#closed) done()
    })
  }
}
