import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'

/** The most that may be spent. Contract: has at least one of `tokens`, `cost` and `calls`. */
export interface BudgetLimit {
  /** What has the limit: each run with the runs nested in it, each thread, or each owner. */
  readonly per: 'run' | 'thread' | 'owner'
  /** Input and output tokens together. */
  readonly tokens?: number
  /** In the currency of `price`. */
  readonly cost?: number
  /** Calls of models: with `windowMs` a rate limit. */
  readonly calls?: number
  /** How long the limit counts before it begins again, at multiples of this time since the epoch in UTC. @default for ever */
  readonly windowMs?: number
}

/** What is counted for a limit. */
export type Unit = 'tokens' | 'cost' | 'calls'

/** One number that is limited. */
export interface Meter {
  readonly per: BudgetLimit['per']
  readonly unit: Unit
  readonly limit: number
  readonly windowMs?: number
}

const NAMES: OptionNames<BudgetLimit> = { per: true, tokens: true, cost: true, calls: true, windowMs: true }
const UNITS = ['tokens', 'cost', 'calls'] as const satisfies readonly Unit[]
const OWNERS: readonly unknown[] = ['run', 'thread', 'owner'] satisfies BudgetLimit['per'][]

/** The numbers that limits name. Contract: throws `CONFIG_INVALID` for a malformed limit. */
export function metersOf(who: string, limits: readonly BudgetLimit[]): readonly Meter[] {
  checkOption(Array.isArray(limits), who, 'limits must be a list', limits)
  return limits.flatMap((limit, index) => {
    const name = `${who}: limits[${index}]`
    checkOptionNames(name, limit, NAMES)
    const { per, windowMs } = limit
    checkOption(OWNERS.includes(per), name, "per must be 'run', 'thread' or 'owner'", per)
    const isWindow = windowMs === undefined || (Number.isFinite(windowMs) && windowMs >= 1)
    checkOption(isWindow, name, 'windowMs must be a number from 1 on', windowMs)
    const meters = UNITS.flatMap((unit) => {
      const most = limit[unit]
      if (most === undefined) return []
      const isAmount = typeof most === 'number' && most > 0 && Number.isFinite(most)
      checkOption(isAmount, name, `${unit} must be a positive number`, most)
      return [{ per, unit, limit: most, ...(windowMs !== undefined && { windowMs }) }]
    })
    checkOption(meters.length > 0, name, 'expected tokens, cost or calls', undefined)
    return meters
  })
}
