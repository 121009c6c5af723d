import { type Implementation, type PriorDiscovery, UnauthorizedError } from '@modelcontextprotocol/client'
import { KernelError, type Owner, type RunContext } from '@troupe/kernel'
import { Connection } from '../connection/connection.ts'
import { childTransport, httpTransport } from '../connection/transport.ts'
import { isCommand, type McpServer } from '../settings/mcp-server.ts'
import { Recent } from '../settings/recent.ts'
import type { SignIns } from '../sign-in/sign-ins.ts'
import { unavailable } from './call-error.ts'

const IDLE_MS = 300_000
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 30_000

/** What a link needs of the handler. */
interface LinkOptions {
  readonly name: string
  readonly server: McpServer
  readonly clientInfo: Implementation
  readonly sampling: boolean
  readonly signIns: SignIns
  /** Contract: called with nothing for an owner whose connection is shared. */
  onListChanged(owner: Owner | undefined): void
  /** Contract: called for each connection that was opened, with the same owner. */
  onConnected(owner: Owner | undefined, version: string | undefined): void
}

/** A failure that makes the next attempt wait. */
interface Failure {
  readonly count: number
  readonly until: number
  readonly error: unknown
}

/** A connection that is open, or is being opened. */
interface Entry {
  readonly opening: Promise<Connection>
  connection?: Connection
}

/** The connections to one server. Contract: one for all owners where the server keeps nothing between requests, otherwise one for each. */
export class ServerLink {
  readonly name: string
  readonly server: McpServer
  readonly #options: LinkOptions
  readonly #entries = new Map<string, Entry>()
  readonly #failures = new Recent<Failure>()
  #isStateless = false
  #prior: PriorDiscovery | undefined
  #disposed = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.name = options.name
    this.server = options.server
  }

  /** Whether an owner may see other tools than the next one. */
  get isPersonal(): boolean {
    const { server } = this
    return !isCommand(server) && (server.auth !== undefined || typeof server.headers === 'function')
  }

  /** The open connection for an owner, or a new one. Contract: rejects with `MCP_UNAVAILABLE` at once while a server that failed is left alone, and with `UnauthorizedError` where a person has to sign in. */
  connection(ctx: RunContext): Promise<Connection> {
    if (this.#disposed) {
      return Promise.reject(new KernelError('MCP_UNAVAILABLE', `mcp server ${this.name}: the handler was disposed`))
    }
    const key = this.#keyOf(ctx.session)
    const found = this.#entries.get(key)
    if (found) return found.opening
    const failure = this.#failures.get(key)
    const wait = failure ? failure.until - ctx.clock.now() : 0
    if (failure && wait > 0) return Promise.reject(unavailable(this.name, failure.error, wait))
    const entry: Entry = { opening: this.#connect(ctx) }
    this.#entries.set(key, entry)
    entry.opening.then(
      (connection) => {
        this.#opened(key, entry, connection)
        this.#options.onConnected(this.isPersonal ? ctx.session : undefined, connection.version)
      },
      (error: unknown) => {
        this.#entries.delete(key)
        if (!(error instanceof UnauthorizedError)) this.failed(ctx, error)
      },
    )
    return entry.opening
  }

  /** Lets the next attempt wait: not the first time, then longer and longer. */
  failed({ session, clock }: RunContext, error: unknown): void {
    const key = this.#keyOf(session)
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const wait = count === 1 ? 0 : Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (count - 2))
    this.#failures.set(key, { count, until: clock.now() + wait, error })
    this.#prior = undefined
  }

  /** Says that the server works, so that the next failure is the first. */
  succeeded({ session }: RunContext): void {
    if (this.#failures.size > 0) this.#failures.delete(this.#keyOf(session))
  }

  /** Connects anew the next time. */
  async drop(connection: Connection): Promise<void> {
    this.#forget(connection)
    await connection.close()
  }

  /** Contract: idempotent; no process, socket or timer is left. */
  async dispose(): Promise<void> {
    this.#disposed = true
    const opened = await Promise.allSettled([...this.#entries.values()].map(({ opening }) => opening))
    await Promise.all(opened.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)))
  }

  #keyOf({ app, user }: Owner): string {
    return this.#isStateless ? '' : JSON.stringify([app, user])
  }

  async #connect(ctx: RunContext): Promise<Connection> {
    const { name, server, clientInfo, sampling, signIns, onListChanged } = this.#options
    const { session: owner } = ctx
    const provider = isCommand(server) ? undefined : signIns.provider(name, server, owner)
    const personal = this.isPersonal ? owner : undefined
    try {
      return await Connection.open({
        transport: isCommand(server) ? childTransport(server) : await httpTransport(name, server, owner, provider),
        clientInfo,
        sampling,
        timeoutMs: server.connectTimeoutMs ?? 30_000,
        ...(this.#prior && { prior: this.#prior }),
        onListChanged: () => onListChanged(personal),
        onClose: (connection, byServer) => {
          this.#forget(connection)
          if (byServer) this.failed(ctx, new Error('the server closed the connection'))
        },
      })
    } catch (error) {
      if (error instanceof UnauthorizedError) throw error
      throw unavailable(name, error)
    }
  }

  /** Notes what the next connection need not find out again. */
  #opened(key: string, entry: Entry, connection: Connection): void {
    entry.connection = connection
    if (connection.closed) {
      this.#forget(connection)
      return
    }
    const { stateless } = connection
    if (isCommand(this.server) && !stateless) this.#prior = { kind: 'legacy' }
    if (!stateless || this.isPersonal) {
      connection.closeWhenIdle(IDLE_MS)
      return
    }
    this.#isStateless = true
    this.#entries.delete(key)
    if (!this.#entries.has('')) this.#entries.set('', entry)
    else connection.closeWhenIdle(IDLE_MS)
  }

  #forget(connection: Connection): void {
    for (const [key, entry] of this.#entries) if (entry.connection === connection) this.#entries.delete(key)
  }
}
