import type { AgentDefinition, AgentOptions } from '../define/define-agent.ts'
import { defineAgent, optionsOf } from '../define/define-agent.ts'
import { checkKeys, isPlain } from '../define/misfit.ts'

/** What an app may change about an agent that others defined; what it is called with and hands in stays. */
export type AgentOverride = Partial<
  Pick<AgentOptions, 'displayName' | 'description' | 'prompt' | 'query' | 'model' | 'tools' | 'limits'>
>

const KEYS: readonly (keyof AgentOverride)[] = [
  'displayName',
  'description',
  'prompt',
  'query',
  'model',
  'tools',
  'limits',
]

/** Contract: throws `CONFIG_INVALID` for what is no override. */
export function checkOverrides(overrides: { readonly [name: string]: AgentOverride }): void {
  checkKeys('registry', ['overrides'], overrides, Object.keys(overrides ?? {}))
  for (const [name, override] of Object.entries(overrides)) checkKeys('registry', ['overrides', name], override, KEYS)
}

/** Contract: objects are merged key by key, lists and everything else replaced; an override that says nothing gives the very same definition. */
export function overridden(definition: AgentDefinition, override: AgentOverride | undefined): AgentDefinition {
  if (!override || saysNothing(override)) return definition
  const { tools } = override
  const base = optionsOf(definition)
  const whole = Array.isArray(base.tools) && isPlain(tools) ? { ...base, tools: { allow: base.tools } } : base
  return defineAgent(merge(whole, override) as AgentOptions)
}

function saysNothing(value: unknown): boolean {
  return value === undefined || (isPlain(value) && Object.values(value).every(saysNothing))
}

function merge(base: unknown, over: unknown): unknown {
  if (over === undefined) return base
  if (!isPlain(over)) return over
  if (!isPlain(base)) return merge({}, over)
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    // A live model is no data, however plain it looks.
    const next = key === 'model' ? (value ?? base[key]) : merge(base[key], value)
    if (next !== undefined) merged[key] = next
  }
  return merged
}
