import { type Clock, checkOption, checkOptionNames, type OptionNames, type Store, systemClock } from '@troupe/kernel'
import { type Engine, LogWatch, sqlStore, type Tables } from '@troupe/store-sql'
import { Kysely, sql } from 'kysely'
import { type ClientConfig, Pool, type PoolConfig } from 'pg'
import { PostgresDialect, type PostgresPool } from './postgres-dialect.ts'
import { lostRace, postgresError } from './postgres-error.ts'
import { PostgresListener } from './postgres-listener.ts'

export type { PostgresClient, PostgresPool } from './postgres-dialect.ts'

/** What a PostgreSQL store can be given. */
export interface PostgresStoreOptions {
  /** `postgres://user:password@host/database`; or give a `pool`. */
  readonly url?: string
  /** A pool of `pg` that the app has anyway; it is not ended with the store. */
  readonly pool?: PostgresPool & { readonly options?: object }
  /** The schema that holds the tables, made at first use if it is missing. @default 'public' */
  readonly schema?: string
  /** How followers learn what other processes wrote; a url is for where `url` goes through a transaction pooler; `false` looks. @default true */
  readonly listen?: boolean | string
  /** How often a follower looks as long as it cannot listen. @default 500 */
  readonly pollMs?: number
  /** How long one statement may take before its connection counts as lost. @default 30000 */
  readonly timeoutMs?: number
  /** How many connections the store opens at most; for `url`. @default 10 */
  readonly maxConnections?: number
  /** @default the system's clock */
  readonly clock?: Clock
}

const NAMES: OptionNames<PostgresStoreOptions> = {
  url: true,
  pool: true,
  schema: true,
  listen: true,
  pollMs: true,
  timeoutMs: true,
  maxConnections: true,
  clock: true,
}
const ALIASES = { connectionString: 'url', max: 'maxConnections' } as const

/** A store on a server. */
export interface PostgresStore extends Store {
  /** Contract: connects and brings the tables up to date now, instead of at the first use; safe to call again. */
  ready(): Promise<void>
}

const CHANNEL = 'troupe'
/** A payload holds 8,000 bytes. */
const LOGS_PER_PAYLOAD = 300

/**
 * All store ports in PostgreSQL.
 * Contract: the server is reached at first use; nothing is kept in a session, so that a transaction pooler may stand between.
 * @example await using store = postgresStore({ url: 'postgres://localhost/chat' })
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return sqlStore(postgresEngine(options))
}

/** What the store stands on. */
export function postgresEngine(options: PostgresStoreOptions): Engine {
  checkOptionNames('postgresStore', options, NAMES, ALIASES)
  const { url, pool, schema = 'public', listen = true, clock = systemClock } = options
  const { pollMs = 500, timeoutMs = 30_000, maxConnections = 10 } = options
  const who = 'postgresStore'
  checkOption((typeof url === 'string' && url !== '') !== (pool !== undefined), who, 'either url or pool is given', url)
  checkOption(typeof schema === 'string' && schema !== '', who, 'schema is a name', schema)
  checkOption(pollMs > 0, who, 'pollMs is a positive number', pollMs)
  checkOption(timeoutMs > 0, who, 'timeoutMs is a positive number', timeoutMs)
  checkOption(Number.isInteger(maxConnections) && maxConnections > 0, who, 'maxConnections is a count', maxConnections)

  const connection = { connectionString: url, connectionTimeoutMillis: timeoutMs, keepAlive: true }
  const dialect = new PostgresDialect({
    pool: pool ?? ownPool({ ...connection, max: maxConnections }),
    ownsPool: pool === undefined,
    timeoutMs,
  })
  const db = new Kysely<Tables>({ dialect }).withSchema(schema)

  const notify = async (asker: Kysely<Tables>, payload: string) => {
    await asker
      .selectNoFrom(({ fn, val }) => fn<string>('pg_notify', [val(CHANNEL), val(payload)]).as('told'))
      .execute()
  }
  const listener = new PostgresListener({
    config: typeof listen === 'string' ? { ...connection, connectionString: listen } : configOf(pool, connection),
    channel: CHANNEL,
    send: (payload) => notify(db, payload),
    heard: (payload) => watch.tell(logsOf(payload, schema)),
    hears: (does) => {
      watch.polling = !does
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
    clock,
    watch,
    async lockSchema(tx) {
      await sql`select pg_advisory_xact_lock(hashtext(${`troupe ${schema}`}))`.execute(tx)
      const { rows } = await sql`select 1 from pg_catalog.pg_namespace where nspname = ${schema}`.execute(tx)
      if (rows.length === 0) await tx.schema.createSchema(schema).execute()
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

function ownPool(config: PoolConfig): PostgresPool {
  // A pool lets go of a connection before it is closed, and what the server says then nobody would hear.
  return new Pool(config).on('connect', (client) => client.on('error', () => {}))
}

/** How to reach the server of a pool. */
function configOf(pool: PostgresStoreOptions['pool'], connection: ClientConfig): ClientConfig {
  return pool ? { ...pool.options, keepAlive: true } : connection
}

/** The logs that a payload is about; none if it is of another schema, or of somebody else. */
function logsOf(payload: string, schema: string): readonly number[] {
  try {
    const [where, ...logs]: unknown[] = JSON.parse(payload)
    return where === schema ? logs.map(Number) : []
  } catch {
    return []
  }
}
