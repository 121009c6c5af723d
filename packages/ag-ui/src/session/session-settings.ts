import type { Clock, KernelError, Memory, Store } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'
import { ThreadHolds } from './thread-holds.ts'

/** The options of a session manager. */
export interface SessionManagerOptions {
  /** Contract: without `runLog` the logs of runs are kept as long as their session. */
  readonly store: Pick<Store, 'threads' | 'leases'> & Partial<Pick<Store, 'runLog'>>
  /** How long a session may be idle; `Infinity` keeps it for ever. @default 1_200_000 */
  readonly sessionTimeoutMs?: number
  /** How long a session that waits for a client may be idle. @default 86_400_000 */
  readonly maxPendingMs?: number
  /** How long the log of a run is kept after the run has ended; `Infinity` keeps it as long as its session. @default 86_400_000 */
  readonly runLogMs?: number
  /** @default 300_000 */
  readonly sweepIntervalMs?: number
  /** @default no limit */
  readonly maxSessionsPerUser?: number
  /** The apps whose sessions and logs expire, if several apps share a store. @default all */
  readonly apps?: readonly string[]
  /** Receives a conversation before it is deleted. */
  readonly memory?: Memory
  /** How long the memory may take. @default 60_000 */
  readonly memoryTimeoutMs?: number
  readonly clock?: Clock
  /** Receives failures of the sweep. @default they are ignored */
  readonly report?: (error: KernelError) => void
}

/** The options of a session manager, checked, with their defaults, and its holds on threads. */
export interface SessionSettings
  extends Required<Omit<SessionManagerOptions, 'memory' | 'maxSessionsPerUser' | 'apps'>> {
  readonly memory: Memory | undefined
  readonly apps: readonly string[] | undefined
  readonly maxSessionsPerUser: number
  readonly holds: ThreadHolds
}

const NAMES: OptionNames<SessionManagerOptions> = {
  store: true,
  sessionTimeoutMs: true,
  maxPendingMs: true,
  runLogMs: true,
  sweepIntervalMs: true,
  maxSessionsPerUser: true,
  apps: true,
  memory: true,
  memoryTimeoutMs: true,
  clock: true,
  report: true,
}

/** Checks the options of a session manager and fills in the defaults. */
export function sessionSettings(options: SessionManagerOptions): SessionSettings {
  checkOptionNames('SessionManager', options, NAMES)
  const {
    store,
    sessionTimeoutMs = 1_200_000,
    maxPendingMs = 86_400_000,
    runLogMs = 86_400_000,
    sweepIntervalMs = 300_000,
    maxSessionsPerUser = Number.POSITIVE_INFINITY,
    memoryTimeoutMs = 60_000,
    clock = systemClock,
    memory,
    apps,
    report = () => {},
  } = options
  const numbers = { sessionTimeoutMs, maxPendingMs, runLogMs, sweepIntervalMs, maxSessionsPerUser, memoryTimeoutMs }
  for (const [name, value] of Object.entries(numbers)) {
    checkOption(
      typeof value === 'number' && value >= 1,
      'SessionManager',
      `${name} must be a number of at least 1`,
      value,
    )
  }
  const holds = new ThreadHolds(store.leases, clock)
  return { store, ...numbers, clock, memory, apps, report: safeReport(report), holds }
}
