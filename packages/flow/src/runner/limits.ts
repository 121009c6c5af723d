import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { TRANSFERS } from '../flow-context.ts'

/** Limits of every run of a runner. */
export interface RunnerLimits {
  /** How long a run may take. @default 600_000 */
  readonly runMs?: number
  /** How long a consumer may leave an event unread before the run is aborted; twice as long if a tool waits for the read. @default 300_000 */
  readonly idleMs?: number
  /** How many characters the events of a run may have; with more it fails with `RUN_TOO_LARGE`. @default 64_000_000 */
  readonly runChars?: number
  /** How many transfers a run may make. @default 25 */
  readonly transfers?: number
  /** How long after a soft cancel the run is aborted. @default 30_000 */
  readonly cancelMs?: number
  /** How long a run waits for a busy thread, unless `busy` is `reject`. @default 60_000 */
  readonly queueMs?: number
  /** How long a thread stays locked after the process of its run has died. @default 30_000 */
  readonly leaseMs?: number
  /** How many characters of histories are kept in memory, so that the next run on a thread does not read it; 0 keeps none. @default 32_000_000 */
  readonly keptChars?: number
  /** How often a run renews its lease and checks whether another process has cancelled it. @default 2_000 */
  readonly pollMs?: number
}

const MAY_BE_0: ReadonlySet<string> = new Set(['transfers', 'queueMs', 'cancelMs', 'keptChars'])

/** Fills in the defaults. Contract: throws `CONFIG_INVALID` for an invalid limit. */
export function checkLimits(limits: RunnerLimits = {}): Required<RunnerLimits> {
  const {
    runMs = 600_000,
    idleMs = 300_000,
    runChars = 64_000_000,
    transfers = TRANSFERS,
    cancelMs = 30_000,
    queueMs = 60_000,
    leaseMs = 30_000,
    pollMs = 2_000,
    keptChars = 32_000_000,
  } = limits
  checkOptionNames('runner: limits', limits, {
    runMs: true,
    idleMs: true,
    runChars: true,
    transfers: true,
    cancelMs: true,
    queueMs: true,
    leaseMs: true,
    pollMs: true,
    keptChars: true,
  })
  const all = { runMs, idleMs, runChars, transfers, cancelMs, queueMs, leaseMs, pollMs, keptChars }
  for (const [name, value] of Object.entries(all)) {
    const least = MAY_BE_0.has(name) ? 0 : 1
    const fine = typeof value === 'number' && value >= least
    checkOption(fine, 'runner', `limits.${name} must be a number of at least ${least}`, value)
  }
  return { ...all, pollMs: Math.min(pollMs, leaseMs / 3) }
}
