import { checkKeys, misfit } from './misfit.ts'

/** What one call of an agent may take; `Infinity` is no limit. */
export type AgentLimits = {
  /** Model calls of the agent itself. @default 20 */
  readonly maxTurns?: number
  /** How long it works, without the time that a person is asked. @default 300_000 */
  readonly timeoutMs?: number
  /** Tokens in and out, of the agent and of all agents below it. @default Infinity */
  readonly maxTokens?: number
  /** Calls of tools, of the agent and of all agents below it. @default Infinity */
  readonly maxToolCalls?: number
  /** Levels of agents, this one included: 1 calls no other agent. @default 3 */
  readonly maxDepth?: number
  /** How long the grace turn may take. @default 30_000 */
  readonly graceMs?: number
}

/** Limits that apply where nobody says otherwise. */
export const DEFAULT_LIMITS: Required<AgentLimits> = {
  maxTurns: 20,
  timeoutMs: 300_000,
  maxTokens: Number.POSITIVE_INFINITY,
  maxToolCalls: Number.POSITIVE_INFINITY,
  maxDepth: 3,
  graceMs: 30_000,
}

/** Contract: throws `CONFIG_INVALID` for what is no limit. */
export function checkLimits(who: string, limits: AgentLimits): void {
  checkKeys(who, ['limits'], limits, Object.keys(DEFAULT_LIMITS))
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue
    const whole = !name.endsWith('Ms')
    const fine = typeof value === 'number' && value > 0 && (!whole || Number.isInteger(value) || value === Infinity)
    if (!fine) throw misfit(who, ['limits', name], `is a positive ${whole ? 'whole ' : ''}number`, value)
  }
}

/** The limits that hold: the first of the lists that says something about each. */
export function resolveLimits(...lists: readonly (AgentLimits | undefined)[]): Required<AgentLimits> {
  const limits: { -readonly [K in keyof AgentLimits]-?: number } = { ...DEFAULT_LIMITS }
  for (const list of lists.toReversed()) {
    for (const name of Object.keys(limits) as (keyof AgentLimits)[]) limits[name] = list?.[name] ?? limits[name]
  }
  return limits
}
