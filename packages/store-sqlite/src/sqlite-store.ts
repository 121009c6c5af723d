import { type Clock, checkOption, checkOptionNames, type OptionNames, type Store, systemClock } from '@troupe/kernel'
import { type Engine, LogWatch, sqlStore, type Tables } from '@troupe/store-sql'
import { Kysely } from 'kysely'
import { SqliteDialect } from './sqlite-dialect.ts'
import { sqliteError } from './sqlite-error.ts'

/** What a SQLite store can be given. */
export interface SqliteStoreOptions {
  /** The file, made at first use if its folder exists; `:memory:` keeps everything in memory. */
  readonly path: string
  /** How long a write waits, without blocking, while another process writes. @default 5000 */
  readonly busyTimeoutMs?: number
  /** How often a follower looks for what other processes wrote. @default 100 */
  readonly pollMs?: number
  /** `full` survives a power cut with every acknowledged write, `normal` may lose the last ones then and writes faster. @default 'full' */
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
export interface SqliteStore extends Store {
  /** Contract: opens the file and brings its tables up to date now, instead of at the first use; safe to call again. */
  ready(): Promise<void>
}

/**
 * All store ports in one SQLite file.
 * Contract: the file is opened at first use, so that is when a broken one is told.
 * @example await using store = sqliteStore({ path: 'chat.db' })
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  return sqlStore(sqliteEngine(options))
}

/** What the store stands on. */
export function sqliteEngine(options: SqliteStoreOptions): Engine {
  checkOptionNames('sqliteStore', options, NAMES, ALIASES)
  const { path, busyTimeoutMs = 5000, pollMs = 100, synchronous = 'full', clock = systemClock } = options
  checkOption(typeof path === 'string' && path !== '', 'sqliteStore', 'path is a file name or :memory:', path)
  checkOption(busyTimeoutMs >= 0, 'sqliteStore', 'busyTimeoutMs is a number from 0', busyTimeoutMs)
  checkOption(pollMs > 0, 'sqliteStore', 'pollMs is a positive number', pollMs)
  const modes: readonly string[] = ['full', 'normal']
  checkOption(modes.includes(synchronous), 'sqliteStore', "synchronous is 'full' or 'normal'", synchronous)
  const dialect = new SqliteDialect({ path, busyTimeoutMs, synchronous })
  return {
    who: 'sqliteStore',
    flavour: 'sqlite',
    db: new Kysely<Tables>({ dialect }),
    clock,
    watch: new LogWatch({ clock, everyMs: pollMs, changed: () => dialect.othersWrote() }, path !== ':memory:'),
    // A transaction here is the only one that writes.
    lockSchema: async () => {},
    lostRace: () => false,
    coded: (error) => sqliteError(error, path),
  }
}
