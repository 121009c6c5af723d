import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { type Clock, KernelError } from '@troupe/kernel'

/** Limits of sessions. */
export interface SessionLimits {
  readonly sessions: number
  readonly sessionsPerUser: number
  readonly sessionMs: number
  readonly keepAliveMs: number
}

interface Session {
  readonly id: string
  readonly user: string
  readonly server: McpServer
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** How many requests or streams use it now. */
  used: number
  lastUsed: number
}

/** The sessions of clients of the stateful protocol. Contract: a session of another user is as if it did not exist. */
export class Sessions {
  readonly #limits: SessionLimits
  readonly #clock: Clock
  readonly #sessions: Map<string, Session> = new Map()
  #cancelSweep: (() => void) | undefined

  constructor(limits: SessionLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Begins a session. Contract: throws `USER_LIMIT` or `EXECUTION_LIMIT` if there are too many. */
  async open(user: string, server: McpServer): Promise<Session> {
    this.#checkRoom(user)
    const id = crypto.randomUUID()
    const { keepAliveMs } = this.#limits
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id, keepAliveMs })
    const session = { id, user, server, transport, used: 0, lastUsed: this.#clock.now() }
    this.#sessions.set(id, session)
    server.server.onclose = () => this.#sessions.delete(id)
    await server.connect(transport)
    this.#sweepLater()
    return session
  }

  #checkRoom(user: string): void {
    let own = 0
    for (const session of this.#sessions.values()) if (session.user === user) own++
    if (own >= this.#limits.sessionsPerUser) {
      const message = 'You have too many sessions open. Close one, or try again later.'
      throw new KernelError('USER_LIMIT', message, { retryable: true })
    }
    if (this.#sessions.size < this.#limits.sessions) return
    throw new KernelError('EXECUTION_LIMIT', 'There are too many sessions. Try again later.', { retryable: true })
  }

  /** Contract: throws `NOT_FOUND`. */
  find(user: string, id: string): Session {
    const session = this.#sessions.get(id)
    if (session?.user === user) return session
    throw new KernelError('NOT_FOUND', 'Session not found')
  }

  /** Keeps a session alive until the function that it gives is called. */
  use(session: Session): () => void {
    session.used++
    let used = true
    return () => {
      if (!used) return
      used = false
      session.used--
      session.lastUsed = this.#clock.now()
    }
  }

  /** Ends a session, and what is under way in it. */
  async end(session: Session): Promise<void> {
    this.#sessions.delete(session.id)
    await session.server.close()
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
    await Promise.all(Array.from(this.#sessions.values(), (session) => this.end(session)))
  }

  /** One timer for all sessions, and none without sessions. */
  #sweepLater(): void {
    if (this.#cancelSweep || this.#sessions.size === 0) return
    const sweep = () => {
      this.#cancelSweep = undefined
      const before = this.#clock.now() - this.#limits.sessionMs
      for (const session of this.#sessions.values()) {
        if (session.used === 0 && session.lastUsed <= before) void this.end(session)
      }
      this.#sweepLater()
    }
    this.#cancelSweep = this.#clock.after(Math.ceil(this.#limits.sessionMs / 4), sweep, false)
  }
}
