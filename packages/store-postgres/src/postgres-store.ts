import type { Clock, FullStore } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import { batchAtOnce, commitAtOnce, type Engine, LogWatch, sqlStore, type Tables } from '@troupe/store-sql'
import { CompiledQuery, Kysely, sql } from 'kysely'
import { type ClientConfig, Pool, type PoolConfig } from 'pg'
import { PostgresDialect, type PostgresPool, WITHOUT_LIMITS } from './postgres-dialect.ts'
import { lostRace, postgresError } from './postgres-error.ts'
import { PostgresListener } from './postgres-listener.ts'

export type { PostgresClient, PostgresPool } from './postgres-dialect.ts'

/** The options of a PostgreSQL store. */
export interface PostgresStoreOptions {
  /** `postgres://user:password@host/database`; or give a `pool`. */
  readonly url?: string
  /** An existing `pg` pool of the app; the store does not end it. */
  readonly pool?: PostgresPool & { readonly options?: object }
  /** The schema of the tables, created at first use if it does not exist. @default 'public' */
  readonly schema?: string
  /** Whether followers use LISTEN for writes of other processes; give a direct url if `url` goes through a transaction pooler; `false` polls. @default true */
  readonly listen?: boolean | string
  /** How often a follower polls while it cannot listen. @default 500 */
  readonly pollMs?: number
  /** How long one statement may take before its connection counts as lost. @default 30000 */
  readonly timeoutMs?: number
  /** How long a statement waits for a row that another transaction holds; 0 waits as long as `timeoutMs`. @default 3000, but at most half of `timeoutMs`, so that the server gives a write up before its caller does */
  readonly lockTimeoutMs?: number
  /** How long the server keeps a transaction whose process does nothing; 0 keeps it until the connection ends. @default 5000 */
  readonly idleTransactionMs?: number
  /** How long the server works on one statement of a transaction; 0 for as long as it takes. @default 20000, but at most two thirds of `timeoutMs` */
  readonly statementTimeoutMs?: number
  /** Whether the server keeps the plans of statements, which saves about half of its work; not behind a pooler that gives each transaction another connection. @default false */
  readonly prepareStatements?: boolean
  /** The most connections that the store opens with `url`. @default 10 */
  readonly maxConnections?: number
  /** @default the system's clock, and that of the server for leases */
  readonly clock?: Clock
}

const NAMES: OptionNames<PostgresStoreOptions> = {
  url: true,
  pool: true,
  schema: true,
  listen: true,
  pollMs: true,
  timeoutMs: true,
  lockTimeoutMs: true,
  idleTransactionMs: true,
  statementTimeoutMs: true,
  maxConnections: true,
  prepareStatements: true,
  clock: true,
}
const ALIASES = { connectionString: 'url', max: 'maxConnections' } as const

/** A store on a server. */
export interface PostgresStore extends FullStore {
  /** Contract: connects and migrates the tables now, instead of at the first use; safe to call again. */
  ready(): Promise<void>
}

const CHANNEL = 'troupe'
/** Not that of a transaction, which may have waited for a lock. */
const SERVER_TIME = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::double precision`
/** A payload holds at most 8,000 bytes. */
const LOGS_PER_PAYLOAD = 300

/**
 * All store ports in PostgreSQL.
 * Contract: connects at first use; keeps nothing in a database session, so it works behind a transaction pooler.
 * @example await using store = postgresStore({ url: 'postgres://localhost/chat' })
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return sqlStore(postgresEngine(options), { commit: commitAtOnce, batch: batchAtOnce })
}

/** The engine of the store. */
export function postgresEngine(options: PostgresStoreOptions): Engine {
  checkOptionNames('postgresStore', options, NAMES, ALIASES)
  const { url, pool, schema = 'public', listen = true, clock = systemClock } = options
  const { pollMs = 500, timeoutMs = 30_000, maxConnections = 10, prepareStatements = false } = options
  const { lockTimeoutMs = Math.min(3000, Math.ceil(timeoutMs / 2)), idleTransactionMs = 5000 } = options
  const { statementTimeoutMs = Math.min(20_000, Math.ceil((timeoutMs * 2) / 3)) } = options
  const who = 'postgresStore'
  checkOption((typeof url === 'string' && url !== '') !== (pool !== undefined), who, 'expected either url or pool', url)
  checkOption(typeof schema === 'string' && schema !== '', who, 'schema must be a name', schema)
  checkOption(pollMs > 0, who, 'pollMs must be a positive number', pollMs)
  checkOption(timeoutMs > 0, who, 'timeoutMs must be a positive number', timeoutMs)
  checkOption(
    Number.isInteger(maxConnections) && maxConnections > 0,
    who,
    'maxConnections must be a whole number from 1 on',
    maxConnections,
  )

  for (const [name, ms] of Object.entries({ lockTimeoutMs, idleTransactionMs, statementTimeoutMs })) {
    checkOption(isServerTime(ms), who, `${name} must be a whole number from 0 on`, ms)
  }

  const connection = { connectionString: url, connectionTimeoutMillis: timeoutMs, keepAlive: true }
  const parts = {
    pool: pool ?? ownPool({ ...connection, max: maxConnections }),
    timeoutMs,
    preparesStatements: prepareStatements,
    settings: {
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: idleTransactionMs,
      statement_timeout: statementTimeoutMs,
    },
  }
  const dialect = new PostgresDialect({ ...parts, ownsPool: pool === undefined })
  const settings = { ...parts.settings, synchronous_commit: 'off' } as const
  const relaxed = new PostgresDialect({ ...parts, ownsPool: false, settings })
  const db = new Kysely<Tables>({ dialect }).withSchema(schema)

  const notify = async (executor: Kysely<Tables>, payload: string) => {
    await executor
      .selectNoFrom(({ fn, val }) => fn<string>('pg_notify', [val(CHANNEL), val(payload)]).as('notified'))
      .execute()
  }
  const listener = new PostgresListener({
    config: typeof listen === 'string' ? { ...connection, connectionString: listen } : configOf(pool, connection),
    channel: CHANNEL,
    send: (payload) => notify(db, payload),
    onPayload: (payload) => watch.notify(logsOf(payload, schema)),
    onReceiving: (receiving) => {
      watch.polling = !receiving
    },
    wanted: () => watch.awaited,
  })
  const watch = new LogWatch(
    { clock, everyMs: pollMs, changed: () => true, awaited: () => listen !== false && listener.start() },
    true,
  )

  return {
    who,
    flavour: 'postgres',
    db,
    relaxed: new Kysely<Tables>({ dialect: relaxed }).withSchema(schema),
    clock,
    // An app that brings its own clock means it.
    ...(!options.clock && { time: SERVER_TIME }),
    watch,
    ...(lockTimeoutMs > 0 && {
      lockLimit: sql<boolean>`set_config('lock_timeout', ${sql.lit(String(lockTimeoutMs))}, true) is not null`,
    }),
    async lockSchema(tx) {
      await tx.executeQuery(CompiledQuery.raw(WITHOUT_LIMITS))
      await sql`select pg_advisory_xact_lock(hashtext(${`troupe ${schema}`}))`.execute(tx)
      const { rows } = await sql`select 1 from pg_catalog.pg_namespace where nspname = ${schema}`.execute(tx)
      if (rows.length === 0) await tx.schema.createSchema(schema).execute()
    },
    appendAtOnce: {
      relax: sql`set_config('synchronous_commit', 'off', true)`,
      announce: (logs) =>
        sql`case when ${logs} is not null then pg_notify(${CHANNEL}, ${`[${JSON.stringify(schema)},`} || ${logs} || ']') end`,
    },
    async announce(tx, logs) {
      for (let i = 0; i < logs.length; i += LOGS_PER_PAYLOAD) {
        await notify(tx, JSON.stringify([schema, ...logs.slice(i, i + LOGS_PER_PAYLOAD)]))
      }
    },
    lostRace,
    coded: postgresError,
    close: () => listener.close(),
  }
}

/** Whether a time fits into a setting of the server. */
function isServerTime(ms: number): boolean {
  return Number.isInteger(ms) && ms >= 0 && ms < 2 ** 31
}

function ownPool(config: PoolConfig): PostgresPool {
  // A pool drops its listeners from a connection before it is closed; a late error must not end the process.
  return new Pool(config).on('connect', (client) => client.on('error', () => {}))
}

/** The connection settings of a pool. */
function configOf(pool: PostgresStoreOptions['pool'], connection: ClientConfig): ClientConfig {
  return pool ? { ...pool.options, keepAlive: true } : connection
}

/** The logs that a payload names; none if it is for another schema or from another program. */
function logsOf(payload: string, schema: string): readonly number[] {
  try {
    const [where, ...logs]: unknown[] = JSON.parse(payload)
    return where === schema ? logs.map(Number) : []
  } catch {
    return []
  }
}
