import { createHash } from 'node:crypto'
import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
} from 'kysely'
import { endsConnection, outcomeUnknown } from './postgres-error.ts'

/** The part of a pool of `pg` that the store uses. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of a pool's client that the store uses. */
export interface PostgresClient {
  query(config: object): Promise<{ readonly rows: unknown[]; readonly command: string }>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** The options of the dialect. */
interface PostgresDialectOptions {
  readonly pool: PostgresPool
  /** Whether the store ends the pool; not if the app gave it. */
  readonly ownsPool: boolean
  readonly timeoutMs: number
  /** Whether the server keeps the plans of statements, by their names, as long as a connection lives. */
  readonly preparesStatements: boolean
  /** Settings of the server for each transaction; times are in milliseconds. */
  readonly settings: Readonly<Record<string, number | 'off'>>
}

/** Ends the limits of a transaction on waiting and working, for one that migrates; the server still ends it if its process freezes. */
export const WITHOUT_LIMITS = 'set local lock_timeout = 0; set local statement_timeout = 0'

/** kysely's PostgreSQL dialect over a pool of `pg`, without state that outlives a transaction. */
export class PostgresDialect implements Dialect {
  readonly #options: PostgresDialectOptions

  constructor(options: PostgresDialectOptions) {
    this.#options = options
  }

  createDriver(): Driver {
    return new PostgresDriver(this.#options)
  }

  createAdapter(): DialectAdapter {
    return new PostgresAdapter()
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(db)
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler()
  }
}

/** Ignores connection errors, which the next query throws; without a listener the event would end the process. */
const ignore = () => {}

class PostgresDriver implements Driver {
  readonly #options: PostgresDialectOptions
  readonly #begin: string
  readonly #names: StatementNames | undefined

  constructor(options: PostgresDialectOptions) {
    this.#options = options
    // Explicit, whatever the server's default is: a statement that waited for a lock must see the other transaction's writes.
    const begin = 'begin isolation level read committed'
    // Local to the transaction and in one round trip: a pool of the app and a transaction pooler keep their own settings.
    const settings = Object.entries(options.settings).map(([name, value]) => `set local ${name} = ${value}`)
    this.#begin = [begin, ...settings].join('; ')
    this.#names = options.preparesStatements ? new StatementNames() : undefined
  }

  async init(): Promise<void> {
    this.#options.pool.on('error', ignore)
  }

  async acquireConnection(): Promise<PostgresConnection> {
    const { pool, timeoutMs } = this.#options
    const client = await pool.connect()
    client.on('error', ignore)
    return new PostgresConnection(client, timeoutMs, this.#names)
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.client.off('error', ignore)
    connection.client.release(connection.broken)
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    connection.inTransaction = true
    await connection.executeQuery(CompiledQuery.raw(this.#begin))
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    try {
      const { rows } = await connection.executeQuery<{ command: string }>(CompiledQuery.raw('commit'))
      // PostgreSQL's answer if an earlier statement failed.
      if (rows[0]?.command === 'ROLLBACK') throw new Error('the transaction was rolled back')
    } catch (error) {
      throw connection.broken ? outcomeUnknown(error) : error
    }
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    // The server rolls back the transaction of a lost connection.
    if (connection.broken) return
    await connection.executeQuery(CompiledQuery.raw('rollback')).catch(() => {
      connection.broken = true
    })
  }

  async destroy(): Promise<void> {
    const { pool, ownsPool } = this.#options
    // Our own pool keeps its listener: its connections may still emit errors while they close.
    if (ownsPool) await pool.end()
    else pool.off('error', ignore)
  }
}

/** The most statements that have a name, because each connection keeps them all. */
const NAMES_KEPT = 200

/** Names of statements. Contract: different texts have different names, also those of other stores on the same connections. */
class StatementNames {
  readonly #names: Map<string, string> = new Map()

  of(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= NAMES_KEPT) return known
    const name = `troupe_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`
    this.#names.set(text, name)
    return name
  }
}

const NUMBERS: readonly number[] = [20, 21, 23, 700, 701, 1700]
/** Parses columns independently of the app's `pg` settings: numbers as numbers, everything else as text. */
const types = { getTypeParser: (oid: number) => (NUMBERS.includes(oid) ? Number : String) }

class PostgresConnection implements DatabaseConnection {
  readonly client: PostgresClient
  readonly #names: StatementNames | undefined
  #timeoutMs: number
  /** The connection must not be used again. */
  broken = false
  /** Until the connection is released: kysely runs nothing else on it. */
  inTransaction = false

  constructor(client: PostgresClient, timeoutMs: number, names: StatementNames | undefined) {
    this.client = client
    this.#timeoutMs = timeoutMs
    this.#names = names
  }

  async executeQuery<R>({ sql: text, parameters: values }: CompiledQuery): Promise<QueryResult<R>> {
    if (text === WITHOUT_LIMITS) this.#timeoutMs = 0
    try {
      const name = values.length > 0 ? this.#names?.of(text) : undefined
      const query = { text, values, types, query_timeout: this.#timeoutMs }
      const { rows, command } = await this.client.query(name === undefined ? query : { ...query, name })
      return { rows: (text === 'commit' ? [{ command }] : rows) as R[] }
    } catch (error) {
      if (endsConnection(error)) this.broken = true
      throw this.broken && !this.inTransaction && !text.startsWith('select') ? outcomeUnknown(error) : error
    }
  }

  // biome-ignore lint/correctness/useYield: pages are short, so nothing streams
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('postgres-dialect: streaming is not supported')
  }
}
