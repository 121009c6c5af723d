import { Socket } from 'node:net'
import { systemClock } from '@troupe/kernel'
import { Client, type ClientConfig } from 'pg'

/** What a listener is made of. */
export interface PostgresListenerOptions {
  readonly config: ClientConfig
  readonly channel: string
  /** Sends a payload to all who listen, over a connection of the pool. */
  readonly send: (payload: string) => Promise<void>
  readonly heard: (payload: string) => void
  /** Told whenever it begins or ceases to hear. */
  readonly hears: (does: boolean) => void
  /** Whether anybody is interested. */
  readonly wanted: () => boolean
}

/** How long a payload that we sent ourselves may take to come back. */
const ECHO_MS = 3000
/** How often a connection that says nothing is tried. */
const HEARTBEAT_MS = 30_000
/** How long a server may take to close a connection. */
const GOODBYE_MS = 1000
const RETRY_MS = { first: 500, most: 30_000 } as const

/**
 * Hears what other processes announce, over a connection of its own.
 * Contract: it hears only after something sent over another connection has come back: behind a transaction pooler LISTEN succeeds and
 * nothing ever comes.
 */
export class PostgresListener {
  readonly #options: PostgresListenerOptions
  /** Wakes whatever the loop waits for. */
  #wake = () => {}
  #running = false
  #closed = false
  #loop: Promise<void> = Promise.resolve()
  /** Of a connection that is being made. */
  #socket: Socket | undefined
  #echoes = 0

  constructor(options: PostgresListenerOptions) {
    this.#options = options
  }

  /** Begins to listen, unless it does. */
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
      // While nobody waits nobody misses it; `start` is called when somebody does.
      if (!this.#options.wanted()) break
    }
    this.#running = false
  }

  /** Listens until the connection is lost; false if it never heard anything. */
  async #listen(): Promise<boolean> {
    const { config, channel, heard, hears } = this.#options
    const socket = new Socket()
    const client = new Client({ ...config, stream: () => socket })
    let [lost, heardOnce] = [false, false]
    let echo = ''
    let echoed = false
    const lose = () => {
      lost = true
      this.#wake()
    }
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ payload = '' }) => {
      if (payload !== echo) return heard(payload)
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
        heardOnce = true
        hears(true)
        if (!lost && !this.#closed) await this.#wait(HEARTBEAT_MS)
      }
    } catch {
      // Followers look by themselves as long as nothing is heard, and their own queries tell what is wrong.
    }
    hears(false)
    // A server that does not answer must not hold up whoever closes the store.
    const giveUp = systemClock.after(GOODBYE_MS, () => socket.destroy())
    if (!lost) await client.end().catch(() => {})
    giveUp()
    return heardOnce
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
