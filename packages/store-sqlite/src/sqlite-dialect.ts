import { statSync } from 'node:fs'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { systemClock } from '@troupe/kernel/kit'
import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { isBusy, isReadOnly, needsFolder } from './sqlite-error.ts'

/** The options of the dialect. */
interface SqliteDialectOptions {
  readonly path: string
  readonly busyTimeoutMs: number
  readonly synchronous: 'full' | 'normal'
}

/** kysely's SQLite dialect over node:sqlite, with one connection that waiting work gets in order. */
export class SqliteDialect implements Dialect {
  readonly #driver: SqliteDriver

  constructor(options: SqliteDialectOptions) {
    this.#driver = new SqliteDriver(options)
  }

  /** Whether another connection has written since the last check. */
  othersWrote(): boolean {
    return this.#driver.othersWrote()
  }

  /** The same connection, for transactions that do not wait for the disk. Contract: used once the other one is open, and it closes nothing. */
  relaxed(): Dialect {
    const driver = new RelaxedDriver(this.#driver)
    return {
      createDriver: () => driver,
      createAdapter: () => this.createAdapter(),
      createIntrospector: (db) => this.createIntrospector(db),
      createQueryCompiler: () => this.createQueryCompiler(),
    }
  }

  createDriver(): Driver {
    return this.#driver
  }

  createAdapter(): DialectAdapter {
    return new QueuedSqliteAdapter()
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db)
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler()
  }
}

/** The driver has its own queue: kysely's mutex wakes all waiters to let one of them in. */
class QueuedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/** Of a new file. A turn changes about fifteen pages, whatever they hold, and each is written whole; the default is 4096. */
const PAGE_BYTES = 1024
/** How long queued work may block the event loop. */
const SLICE_MS = 10

class SqliteDriver implements Driver {
  readonly #options: SqliteDialectOptions
  readonly #queue: (() => void)[] = []
  #database: DatabaseSync | undefined
  #connection: SqliteConnection | undefined
  #taken = false
  #sliceBegan = 0
  #synchronous: 'full' | 'normal'
  #dataVersion = 0

  constructor(options: SqliteDialectOptions) {
    this.#options = options
    this.#synchronous = options.synchronous
  }

  async init(): Promise<void> {
    const { path } = this.#options
    try {
      await this.#open(path, [`pragma page_size = ${PAGE_BYTES}`, 'pragma journal_mode = wal'])
    } catch (error) {
      if (!isReadOnly(error)) throw error
      // A file that is not in WAL mode can be read as it is.
      await this.#open(needsFolder(error) ? unchanging(path, error) : path, [])
    }
  }

  async #open(path: string | URL, pragmas: readonly string[]): Promise<void> {
    const { busyTimeoutMs, synchronous } = this.#options
    // Loaded here: with an import, a Node without `node:sqlite` would fail before the kernel can say which version is needed.
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    // SQLite's own waiting would block the process, so another store in it could never release the lock.
    const database = new DatabaseSync(path, { timeout: 0, readOnly: typeof path !== 'string' })
    const connection = new SqliteConnection(database, busyTimeoutMs)
    try {
      for (const pragma of [...pragmas, 'pragma foreign_keys = on', `pragma synchronous = ${synchronous}`]) {
        await connection.executeQuery(CompiledQuery.raw(pragma))
      }
    } catch (error) {
      database.close()
      throw error
    }
    this.#database = database
    this.#connection = connection
  }

  othersWrote(): boolean {
    if (!this.#database?.isOpen) return false
    const version = Number(this.#database.prepare('pragma data_version').get()?.data_version)
    const changed = version !== this.#dataVersion
    this.#dataVersion = version
    return changed
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return this.connectionWith(this.#options.synchronous)
  }

  /** Contract: the holder of the connection has it alone, and says each time whether its commits wait for the disk. */
  async connectionWith(synchronous: 'full' | 'normal'): Promise<DatabaseConnection> {
    if (this.#taken) await new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#taken = true
    if (synchronous !== this.#synchronous) {
      this.#database?.exec(`pragma synchronous = ${synchronous}`)
      this.#synchronous = synchronous
    }
    return this.#connection as SqliteConnection
  }

  async releaseConnection(): Promise<void> {
    const next = this.#queue.shift()
    const now = performance.now()
    if (!next) this.#taken = false
    else if (now - this.#sliceBegan < SLICE_MS) next()
    else {
      // Queries are synchronous: without a pause a long queue would block timers, sockets and other stores.
      this.#sliceBegan = now
      setImmediate(next)
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // A transaction that begins with a read could not write after another process has written.
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // After some failures, for example a full disk, SQLite has already rolled back.
    if (this.#database?.isTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async destroy(): Promise<void> {
    this.#database?.close()
  }
}

/** The driver of transactions that do not wait for the disk. */
class RelaxedDriver implements Driver {
  readonly #driver: SqliteDriver

  constructor(driver: SqliteDriver) {
    this.#driver = driver
  }

  async init(): Promise<void> {}

  acquireConnection(): Promise<DatabaseConnection> {
    return this.#driver.connectionWith('normal')
  }

  releaseConnection(): Promise<void> {
    return this.#driver.releaseConnection()
  }

  beginTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.beginTransaction(connection)
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.commitTransaction(connection)
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.rollbackTransaction(connection)
  }

  async destroy(): Promise<void> {}
}

/**
 * The address of a file in a folder where SQLite cannot keep its index of the WAL: it is read as a file that nobody changes.
 * Contract: throws the cause if the file has a WAL, which would be left out.
 */
function unchanging(path: string, cause: unknown): URL {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size) throw cause
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

/** The most cached statements; their texts differ only by the number of rows, so there are few. */
const STATEMENTS_KEPT = 100

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync
  readonly #busyTimeoutMs: number
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, busyTimeoutMs: number) {
    this.#database = database
    this.#busyTimeoutMs = busyTimeoutMs
  }

  /** Contract: waits while another connection holds the lock, but never in a transaction, which has its lock from the start. */
  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const deadline = systemClock.now() + this.#busyTimeoutMs
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      try {
        return { rows: this.#statement(sql).all(...(parameters as readonly SQLInputValue[])) as R[] }
      } catch (error) {
        if (!isBusy(error) || this.#database.isTransaction || systemClock.now() >= deadline) throw error
      }
      await new Promise<void>((resolve) => systemClock.after(pause, resolve))
    }
  }

  // biome-ignore lint/correctness/useYield: pages are short, so nothing streams
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('sqlite-dialect: streaming is not supported')
  }

  #statement(sql: string): StatementSync {
    const kept = this.#statements.get(sql)
    if (kept) return kept
    const statement = this.#database.prepare(sql)
    if (this.#statements.size >= STATEMENTS_KEPT) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    this.#statements.set(sql, statement)
    return statement
  }
}
