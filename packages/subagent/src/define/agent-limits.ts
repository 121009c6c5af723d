import { checkKeys, configError } from './config-error.ts'

/** The limits of one call of an agent; `Infinity` means unlimited. */
export type AgentLimits = {
  /** Model calls of the agent itself. @default 20 */
  readonly maxTurns?: number
  /** Working time, without the time spent waiting for a person; after a crash it is counted anew. @default 300_000 */
  readonly timeoutMs?: number
  /** Input and output tokens of the agent and of all agents below it. @default Infinity */
  readonly maxTokens?: number
  /** Tool calls of the agent and of all agents below it. @default Infinity */
  readonly maxToolCalls?: number
  /** Levels of agents, this one included: with 1 it cannot call other agents. @default 3 */
  readonly maxDepth?: number
  /** Time for the grace turn. @default 30_000 */
  readonly graceMs?: number
}

/** The limits that apply by default. */
export const DEFAULT_LIMITS: Required<AgentLimits> = {
  maxTurns: 20,
  timeoutMs: 300_000,
  maxTokens: Number.POSITIVE_INFINITY,
  maxToolCalls: Number.POSITIVE_INFINITY,
  maxDepth: 3,
  graceMs: 30_000,
}

/** Contract: throws `CONFIG_INVALID` for an unknown or invalid limit. */
export function checkLimits(who: string, limits: AgentLimits): void {
  checkKeys(who, ['limits'], limits, Object.keys(DEFAULT_LIMITS))
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue
    const whole = !name.endsWith('Ms')
    const fine = typeof value === 'number' && value > 0 && (!whole || Number.isInteger(value) || value === Infinity)
    if (!fine) throw configError(who, ['limits', name], `must be a positive ${whole ? 'whole ' : ''}number`, value)
  }
}

/** Gives each limit from the first list that has it, else the default. */
export function resolveLimits(...lists: readonly (AgentLimits | undefined)[]): Required<AgentLimits> {
  const limits: { -readonly [K in keyof AgentLimits]-?: number } = { ...DEFAULT_LIMITS }
  for (const list of lists.toReversed()) {
    for (const name of Object.keys(limits) as (keyof AgentLimits)[]) limits[name] = list?.[name] ?? limits[name]
  }
  return limits
}
