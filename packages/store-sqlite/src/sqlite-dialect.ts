import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
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
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { SqliteConnection } from './sqlite-connection.ts'
import { isReadOnly, needsFolder } from './sqlite-error.ts'

/** The options of the dialect. */
interface SqliteDialectOptions {
  readonly path: string
  readonly busyTimeoutMs: number
  readonly synchronous: 'full' | 'normal'
}

/** How the connection writes for its holder. */
interface Mode {
  /** Whether commits wait for the disk. */
  readonly synchronous: 'full' | 'normal'
  /** Whether deleted bytes are overwritten, which writes pages that are otherwise left alone. */
  readonly secureDelete: 'on' | 'off'
}

/** kysely's SQLite dialect over node:sqlite, with one connection that waiting work gets in order. */
export class SqliteDialect implements Dialect {
  readonly #driver: SqliteDriver
  readonly #synchronous: Mode['synchronous']

  constructor(options: SqliteDialectOptions) {
    this.#driver = new SqliteDriver(options)
    this.#synchronous = options.synchronous
  }

  /** Whether another connection has written since the last check. */
  othersWrote(): boolean {
    return this.#driver.othersWrote()
  }

  /** The same connection, for transactions that do not wait for the disk. Contract: used once the other one is open, and it closes nothing. */
  relaxed(): Dialect {
    return this.#sharing({ synchronous: 'normal', secureDelete: 'off' })
  }

  /** The same connection, for transactions that overwrite what they delete. Contract: as of `relaxed`. */
  overwriting(): Dialect {
    return this.#sharing({ synchronous: this.#synchronous, secureDelete: 'on' })
  }

  /** Moves what the WAL has into the file and empties it. Contract: waits for readers no longer than `busyTimeoutMs`, and others may use the connection meanwhile. */
  emptyLog(): Promise<void> {
    return this.#driver.emptyLog()
  }

  #sharing(mode: Mode): Dialect {
    const driver = new SharingDriver(this.#driver, mode)
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
  readonly #mode: Mode
  #now: Mode
  #dataVersion = 0

  constructor(options: SqliteDialectOptions) {
    this.#options = options
    this.#mode = { synchronous: options.synchronous, secureDelete: 'off' }
    this.#now = this.#mode
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
    return this.connectionWith(this.#mode)
  }

  /** Contract: the holder of the connection has it alone, and says each time how it writes. */
  async connectionWith(mode: Mode): Promise<DatabaseConnection> {
    if (this.#taken) await new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#taken = true
    const { synchronous, secureDelete } = mode
    if (synchronous !== this.#now.synchronous) this.#database?.exec(`pragma synchronous = ${synchronous}`)
    if (secureDelete !== this.#now.secureDelete) this.#database?.exec(`pragma secure_delete = ${secureDelete}`)
    this.#now = mode
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

  async emptyLog(): Promise<void> {
    const deadline = systemClock.now() + this.#options.busyTimeoutMs
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      await this.acquireConnection()
      const result = this.#database?.prepare('pragma wal_checkpoint(truncate)').get()
      await this.releaseConnection()
      if (!result?.busy || systemClock.now() >= deadline) return
      await new Promise<void>((resolve) => systemClock.after(pause, resolve))
    }
  }

  async destroy(): Promise<void> {
    this.#database?.close()
  }
}

/** The driver of transactions that write in another mode. */
class SharingDriver implements Driver {
  readonly #driver: SqliteDriver
  readonly #mode: Mode

  constructor(driver: SqliteDriver, mode: Mode) {
    this.#driver = driver
    this.#mode = mode
  }

  async init(): Promise<void> {}

  acquireConnection(): Promise<DatabaseConnection> {
    return this.#driver.connectionWith(this.#mode)
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
