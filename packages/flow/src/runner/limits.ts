import { checkOption, checkOptionNames } from '@troupe/kernel'
import { TRANSFERS } from '../flow-context.ts'

/** What a run may take. */
export interface RunnerLimits {
  /** How long a run may take. @default 600_000 */
  readonly runMs?: number
  /** How long a consumer may leave an event unread before the run is given up; twice as long where a tool waits for it. @default 300_000 */
  readonly idleMs?: number
  /** How many transfers a run may make. @default 25 */
  readonly transfers?: number
  /** How long after a soft cancel the run is aborted. @default 30_000 */
  readonly cancelMs?: number
  /** How long a run waits for a busy thread, where it does not reject at once. @default 60_000 */
  readonly queueMs?: number
  /** How long a thread stays taken when the process that runs on it is gone. @default 30_000 */
  readonly leaseMs?: number
  /** How often a run looks after its lease, and whether another process wants it cancelled. @default 2_000 */
  readonly pollMs?: number
}

/** Contract: throws `CONFIG_INVALID` for what is no limit. */
export function checkLimits(limits: RunnerLimits = {}): Required<RunnerLimits> {
  const {
    runMs = 600_000,
    idleMs = 300_000,
    transfers = TRANSFERS,
    cancelMs = 30_000,
    queueMs = 60_000,
    leaseMs = 30_000,
    pollMs = 2_000,
  } = limits
  checkOptionNames('runner: limits', limits, {
    runMs: true,
    idleMs: true,
    transfers: true,
    cancelMs: true,
    queueMs: true,
    leaseMs: true,
    pollMs: true,
  })
  const all = { runMs, idleMs, transfers, cancelMs, queueMs, leaseMs, pollMs }
  for (const [name, value] of Object.entries(all)) {
    const least = name === 'transfers' || name === 'queueMs' || name === 'cancelMs' ? 0 : 1
    const fine = typeof value === 'number' && value >= least
    checkOption(fine, 'runner', `limits.${name} is a number of at least ${least}`, value)
  }
  return { ...all, pollMs: Math.min(pollMs, leaseMs / 3) }
}
