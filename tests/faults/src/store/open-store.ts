import { StatementSync } from 'node:sqlite'
import type { Store } from '@troupe/kernel'
import type { PostgresPool } from '@troupe/store-postgres'

/** Where a store is; plain JSON, so that another process can open it. */
export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** The stores under test. */
export type StoreKind = Place['kind']

/** Just before a statement, when it is on its way, or when its answer is there. */
export type StatementMoment = 'before' | 'sent' | 'after'

/** Told of a moment in the life of a statement. Contract: on SQLite it cannot be waited for, and there is no `sent`. */
export type OnMoment = (moment: StatementMoment) => void | Promise<void>

/** Told of each statement; `backend` is the process of the server that gets it. What it gives hears the rest. */
export type OnStatement = (sql: string, backend: number) => OnMoment | undefined

/** How a store is opened. */
export interface OpenOptions {
  /** Contract: on SQLite it is told of every store of this process. */
  readonly onStatement?: OnStatement
  /** How long the store waits for others before it gives up. @default 5000 */
  readonly patienceMs?: number
}

/** Opens a store. */
export async function openStore(place: Place, options: OpenOptions = {}): Promise<Store> {
  const { onStatement, patienceMs = 5_000 } = options
  if (place.kind === 'sqlite') {
    const { sqliteStore } = await import('@troupe/store-sqlite')
    if (onStatement) tapSqlite(onStatement)
    return sqliteStore({ path: place.path, busyTimeoutMs: patienceMs })
  }
  const { postgresStore } = await import('@troupe/store-postgres')
  const { url, schema } = place
  if (!onStatement) return postgresStore({ url, schema, listen: false, timeoutMs: patienceMs, maxConnections: 3 })
  const { pool, end } = await tappedPool(url, onStatement)
  const { threads, records, runLog, leases, ...store } = postgresStore({
    pool,
    schema,
    listen: false,
    timeoutMs: patienceMs,
  })
  return {
    threads,
    records,
    runLog,
    leases,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await end()
    },
  }
}

function tapSqlite(onStatement: OnStatement): void {
  const { all } = StatementSync.prototype
  StatementSync.prototype.all = function (this: StatementSync, ...values: Parameters<typeof all>) {
    const tell = onStatement(this.sourceSQL, 0)
    tell?.('before')
    const rows = all.apply(this, values)
    tell?.('after')
    return rows
  } as typeof all
}

type Answer = Promise<{ readonly rows: unknown[]; readonly command: string }>

async function tappedPool(
  url: string,
  onStatement: OnStatement,
): Promise<{ readonly pool: PostgresPool; end(): Promise<void> }> {
  const { Pool } = await import('pg')
  // What the server says when it cuts a connection off is told by the query that needs it.
  const pool = new Pool({ connectionString: url, max: 3 }).on('connect', (client) => client.on('error', () => {}))
  return {
    end: () => pool.end(),
    pool: {
      async connect() {
        const client = await pool.connect()
        const { processID: backend = 0 } = client as { readonly processID?: number }
        return {
          async query(config) {
            const tell = onStatement((config as { readonly text: string }).text, backend)
            await tell?.('before')
            const answer = client.query(config as never) as unknown as Answer
            const sent = tell?.('sent')
            const result = await answer
            await sent
            await tell?.('after')
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
