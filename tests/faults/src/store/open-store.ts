import { StatementSync } from 'node:sqlite'
import type { Store } from '@troupe/kernel'
import type { PostgresPool } from '@troupe/store-postgres'

/** The address of a store; plain JSON, so that another process can open it. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** The stores under test. */
export type StoreKind = StoreAddress['kind']

/** A moment of a statement: just before it, when it is sent, or when its answer has arrived. */
export type StatementMoment = 'before' | 'sent' | 'after'

/** Called at each moment of a statement. Contract: on SQLite there is no `sent`, and nothing waits for its promise. */
export type OnMoment = (moment: StatementMoment) => void | Promise<void>

/** Called for each statement, with the server process that executes it; returns a listener for its moments. */
export type OnStatement = (sql: string, backend: number) => OnMoment | undefined

/** Options of `openStore`. */
export interface OpenOptions {
  /** Contract: on SQLite it is called for the statements of every store in this process. */
  readonly onStatement?: OnStatement
  /** How long the store waits for locks of others. @default 5000 */
  readonly busyTimeoutMs?: number
  /** How long the server keeps a transaction whose process does nothing; PostgreSQL only. */
  readonly idleTransactionMs?: number
}

/** Opens the store at an address. */
export async function openStore(address: StoreAddress, options: OpenOptions = {}): Promise<Store> {
  const { onStatement, busyTimeoutMs = 5_000, idleTransactionMs } = options
  if (address.kind === 'sqlite') {
    const { sqliteStore } = await import('@troupe/store-sqlite')
    if (onStatement) watchSqlite(onStatement)
    return sqliteStore({ path: address.path, busyTimeoutMs: busyTimeoutMs })
  }
  const { postgresStore } = await import('@troupe/store-postgres')
  const { url, schema } = address
  const limits = {
    timeoutMs: busyTimeoutMs,
    ...(idleTransactionMs !== undefined && { idleTransactionMs }),
  }
  if (!onStatement) return postgresStore({ url, schema, listen: false, maxConnections: 3, ...limits })
  const { pool, end } = await watchedPool(url, onStatement)
  const { threads, records, runLog, journal, leases, grants, counters, facts, blobs, ...store } = postgresStore({
    pool,
    schema,
    listen: false,
    ...limits,
  })
  return {
    threads,
    records,
    runLog,
    journal,
    leases,
    grants,
    counters,
    facts,
    blobs,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await end()
    },
  }
}

function watchSqlite(onStatement: OnStatement): void {
  const { all } = StatementSync.prototype
  StatementSync.prototype.all = function (this: StatementSync, ...values: Parameters<typeof all>) {
    const notify = onStatement(this.sourceSQL, 0)
    notify?.('before')
    const rows = all.apply(this, values)
    notify?.('after')
    return rows
  } as typeof all
}

type QueryResult = Promise<{ readonly rows: unknown[]; readonly command: string }>

async function watchedPool(
  url: string,
  onStatement: OnStatement,
): Promise<{ readonly pool: PostgresPool; end(): Promise<void> }> {
  const { Pool } = await import('pg')
  // The next query reports a lost connection; without a listener the process would end.
  const pool = new Pool({ connectionString: url, max: 3 }).on('connect', (client) => client.on('error', () => {}))
  return {
    end: () => pool.end(),
    pool: {
      async connect() {
        const client = await pool.connect()
        const { processID: backend = 0 } = client as { readonly processID?: number }
        return {
          async query(config) {
            const notify = onStatement((config as { readonly text: string }).text, backend)
            await notify?.('before')
            const answer = client.query(config as never) as unknown as QueryResult
            const sent = notify?.('sent')
            const result = await answer
            await sent
            await notify?.('after')
            return result
          },
          release: (destroy) => client.release(destroy),
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
        }
      },
      end: () => pool.end(),
      on: (event, listener) => pool.on(event, listener),
      off: (event, listener) => pool.off(event, listener),
    },
  }
}
