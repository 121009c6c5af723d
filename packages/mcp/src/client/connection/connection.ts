import {
  Client,
  type Implementation,
  type PriorDiscovery,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { LiveCalls } from './live-call.ts'

/** How a connection is opened. */
interface ConnectionOptions {
  readonly transport: Transport
  readonly clientInfo: Implementation
  readonly timeoutMs: number
  readonly sampling: boolean
  /** What is known of the server from an earlier connection. */
  readonly prior?: PriorDiscovery
  onListChanged(): void
  /** Contract: with whether the other side has ended it. */
  onClose(connection: Connection, byServer: boolean): void
}

/** A connection to a server. */
export class Connection {
  readonly client: Client
  readonly calls: LiveCalls = new LiveCalls()
  readonly #transport: Transport
  #closed = false
  #closing = false
  #idle: NodeJS.Timeout | undefined

  private constructor(client: Client, transport: Transport) {
    this.client = client
    this.#transport = transport
  }

  /** Contract: rejects with the error of the SDK; nothing of the connection is left then. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const { transport, clientInfo, timeoutMs, sampling, prior, onListChanged, onClose } = options
    const changed = { autoRefresh: false, debounceMs: 0, onChanged: onListChanged }
    const client = new Client(clientInfo, {
      capabilities: { elicitation: { form: {}, url: {} }, ...(sampling && { sampling: {} }) },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.ceil(timeoutMs / 3) } },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: changed, prompts: changed },
    })
    const connection = new Connection(client, transport)
    connection.#answer(sampling)
    try {
      await client.connect(transport, { timeout: timeoutMs, ...(prior && { prior }) })
    } catch (error) {
      await client.close().catch(ignore)
      await transport.close().catch(ignore)
      throw error
    }
    client.onclose = () => {
      connection.#closed = true
      clearTimeout(connection.#idle)
      onClose(connection, !connection.#closing)
    }
    return connection
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Whether the server keeps nothing between two requests, so that owners can share the connection. */
  get stateless(): boolean {
    return this.client.getProtocolEra() === 'modern'
  }

  /** The version that the server says it has. */
  get version(): string | undefined {
    return this.client.getServerVersion()?.version
  }

  /** Whether the server has given the connection an id that it may forget. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined
  }

  /** Closes the connection when nothing was called for so long. */
  closeWhenIdle(ms: number): void {
    clearTimeout(this.#idle)
    if (this.#closed) return
    this.#idle = setTimeout(() => (this.calls.size === 0 ? void this.close() : this.closeWhenIdle(ms)), ms)
    this.#idle.unref()
  }

  /** Contract: never rejects; a child process has ended when it resolves. */
  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#idle)
    if (this.#transport instanceof StreamableHTTPClientTransport && this.hasSession && !this.#closed) {
      const ended = this.#transport.terminateSession().catch(ignore)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
    }
    await this.client.close().catch(ignore)
  }

  #answer(sampling: boolean): void {
    this.client.setRequestHandler('elicitation/create', async ({ params }) => {
      const call = await this.calls.caller()
      return call ? call.ask(params) : { action: 'cancel' }
    })
    if (!sampling) return
    this.client.setRequestHandler('sampling/createMessage', async ({ params }) => {
      const call = await this.calls.caller()
      if (!call) throw new Error('The client cannot tell which call this request belongs to.')
      return call.sample(params)
    })
  }
}

function ignore(): void {}
