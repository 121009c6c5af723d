import { checkKeys, isPlain } from '../define/config-error.ts'
import type { AgentDefinition, AgentOptions } from '../define/define-agent.ts'
import { defineAgent, optionsOf } from '../define/define-agent.ts'

/** The options an app may change in a definition; name, input and output stay. */
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

/** Contract: throws `CONFIG_INVALID` for an unknown key. */
export function checkOverrides(overrides: { readonly [name: string]: AgentOverride }): void {
  checkKeys('registry', ['overrides'], overrides, Object.keys(overrides ?? {}))
  for (const [name, override] of Object.entries(overrides)) checkKeys('registry', ['overrides', name], override, KEYS)
}

/** Applies an override. Contract: merges objects key by key and replaces everything else; an empty override gives the same definition object. */
export function overridden(definition: AgentDefinition, override: AgentOverride | undefined): AgentDefinition {
  if (!override || isEmpty(override)) return definition
  const { tools } = override
  const base = optionsOf(definition)
  const whole = Array.isArray(base.tools) && isPlain(tools) ? { ...base, tools: { allow: base.tools } } : base
  return defineAgent(merge(whole, override) as AgentOptions)
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (isPlain(value) && Object.values(value).every(isEmpty))
}

function merge(base: unknown, over: unknown): unknown {
  if (over === undefined) return base
  if (!isPlain(over)) return over
  if (!isPlain(base)) return merge({}, over)
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    // A model is an instance to replace, even if it is a plain object.
    const next = key === 'model' ? (value ?? base[key]) : merge(base[key], value)
    if (next !== undefined) merged[key] = next
  }
  return merged
}
