import type { Clock, FullStore } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import { type Engine, LogWatch, sqlStore, type Tables } from '@troupe/store-sql'
import { Kysely } from 'kysely'
import { SqliteDialect } from './sqlite-dialect.ts'
import { sqliteError } from './sqlite-error.ts'

/** The options of a SQLite store. */
export interface SqliteStoreOptions {
  /** The file, created at first use if its folder exists; `:memory:` keeps everything in memory. */
  readonly path: string
  /** How long a write waits, without blocking, while another process writes. @default 5000 */
  readonly busyTimeoutMs?: number
  /** How often a follower checks for writes of other processes. @default 100 */
  readonly pollMs?: number
  /** `full` survives a power cut with every acknowledged write but the last events of run logs, `normal` may lose the last ones, but is faster. @default 'full' */
  readonly synchronous?: 'full' | 'normal'
  /** @default the system's clock */
  readonly clock?: Clock
}

const NAMES: OptionNames<SqliteStoreOptions> = {
  path: true,
  busyTimeoutMs: true,
  pollMs: true,
  synchronous: true,
  clock: true,
}
const ALIASES = { file: 'path', filename: 'path', url: 'path', database: 'path' } as const

/** A store in a file. */
export interface SqliteStore extends FullStore {
  /** Contract: opens the file and migrates its tables now, instead of at the first use; safe to call again. */
  ready(): Promise<void>
}

/**
 * All store ports in one SQLite file.
 * Contract: opens the file at first use, so that is when a broken file throws.
 * @example await using store = sqliteStore({ path: 'chat.db' })
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  return sqlStore(sqliteEngine(options))
}

/** The engine of the store. */
export function sqliteEngine(options: SqliteStoreOptions): Engine {
  checkOptionNames('sqliteStore', options, NAMES, ALIASES)
  const { path, busyTimeoutMs = 5000, pollMs = 100, synchronous = 'full', clock = systemClock } = options
  checkOption(typeof path === 'string' && path !== '', 'sqliteStore', 'path must be a file name or :memory:', path)
  checkOption(busyTimeoutMs >= 0, 'sqliteStore', 'busyTimeoutMs must be a number from 0 on', busyTimeoutMs)
  checkOption(pollMs > 0, 'sqliteStore', 'pollMs must be a positive number', pollMs)
  const modes: readonly string[] = ['full', 'normal']
  checkOption(modes.includes(synchronous), 'sqliteStore', "synchronous must be 'full' or 'normal'", synchronous)
  const dialect = new SqliteDialect({ path, busyTimeoutMs, synchronous })
  return {
    who: 'sqliteStore',
    flavour: 'sqlite',
    db: new Kysely<Tables>({ dialect }),
    ...(synchronous === 'full' && { relaxed: new Kysely<Tables>({ dialect: dialect.relaxed() }) }),
    overwriting: new Kysely<Tables>({ dialect: dialect.overwriting() }),
    emptyLog: () => dialect.emptyLog(),
    clock,
    watch: new LogWatch({ clock, everyMs: pollMs, changed: () => dialect.othersWrote() }, path !== ':memory:'),
    // Only one transaction writes at a time.
    lockSchema: async () => {},
    lostRace: () => false,
    coded: (error) => sqliteError(error, path),
  }
}
