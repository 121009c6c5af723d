import { KernelError, type ToolKind } from '@troupe/kernel'
import { got, suggestion } from '@troupe/kernel/kit'
import type { GuardedNames } from '../execute/environment.ts'
import { compileName, compilePath, type MakeError } from './agent-path.ts'
import { type ArgMatcher, checkLength, compileArgs, isRecord } from './arg-matcher.ts'
import { unmatchedPatterns } from './unmatched-patterns.ts'

/** The effect of a rule on a call. */
export type PolicyEffect = 'deny' | 'ask' | 'allow'

/**
 * One rule, as plain JSON; what is left out matches everything.
 * Patterns: `*` is any text within a name; in `agent`, `**` is any number of names, none included; every other character is itself.
 * @example const rule: PolicyRule = { effect: 'allow', agent: 'coder/**', tool: 'write_*', args: { path: { glob: 'src/**' } } }
 */
export type PolicyRule = {
  readonly effect: PolicyEffect
  /** The path of names from the outermost sub-agent: `coder`, `coder/tester`; '' is the main agent. */
  readonly agent?: string | readonly string[]
  readonly tool?: string | readonly string[]
  readonly kind?: ToolKind | readonly ToolKind[]
  /** By the name of an argument. */
  readonly args?: { readonly [name: string]: ArgMatcher }
  /** Shown to the model whose call is denied, or to the person who is asked. */
  readonly reason?: string
}

/** A checked rule, ready to match. */
export interface CompiledRule {
  readonly index: number
  readonly effect: PolicyEffect
  readonly reason: string | undefined
  matchesAgent(path: readonly string[]): boolean
  matchesTool(name: string, kind: ToolKind): boolean
  /** The rule as JSON. */
  readonly text: string
  /** Whether the rule has no condition but the agent. */
  readonly isForAgent: boolean
  /** Gives a problem for each pattern of tools or agents that matches none of these. */
  unmatched(known: GuardedNames): readonly string[]
  /** Absent if the rule has no conditions on arguments. */
  readonly matchesArgs: ((args: unknown) => boolean) | undefined
}

/** Whether an effect allows more than no rule would: then arguments that are unclear do not match its conditions. */
const LOOSENS: Readonly<Record<PolicyEffect, boolean>> = { deny: false, ask: false, allow: true }
const EFFECTS: readonly unknown[] = Object.keys(LOOSENS)
const KINDS: readonly unknown[] = ['read', 'write', 'execute', 'think'] satisfies ToolKind[]
const KEYS = ['effect', 'agent', 'tool', 'kind', 'args', 'reason']

/** Contract: throws `CONFIG_INVALID` that names the rule by its index; keeps no reference to the given rules. */
export function compileRules(rules: readonly PolicyRule[]): readonly CompiledRule[] {
  const list: unknown = rules
  if (!Array.isArray(list)) throw new KernelError('CONFIG_INVALID', `policy: rules must be a list, ${got(list)}`)
  return list.map(compileRule)
}

function compileRule(rule: unknown, index: number): CompiledRule {
  const errorAt = (where: string): MakeError => errorIn(index, where)
  const makeError = errorIn(index, '')
  if (!isRecord(rule)) throw makeError(`must be an object with an effect, ${got(rule)}`)
  for (const key of Object.keys(rule)) {
    if (!KEYS.includes(key)) throw makeError(`has an unknown option ${key}; ${suggestion(key, KEYS)}`)
  }
  const { effect, agent, tool, kind, args, reason } = rule
  if (!EFFECTS.includes(effect)) throw errorAt('effect')(`must be one of ${EFFECTS.join(', ')}, ${got(effect)}`)
  if (reason !== undefined && typeof reason !== 'string') throw errorAt('reason')(`must be a text, ${got(reason)}`)
  const agents = texts(agent, errorAt('agent'))?.map((pattern) => compilePath(pattern, errorAt('agent')))
  const tools = texts(tool, errorAt('tool'))?.map((pattern) => compileName(pattern, errorAt('tool')))
  const kinds = texts(kind, errorAt('kind'))
  for (const one of kinds ?? []) {
    if (!KINDS.includes(one)) throw errorAt('kind')(`must be one of ${KINDS.join(', ')}, ${got(one)}`)
  }
  return {
    index,
    effect: effect as PolicyEffect,
    reason,
    matchesAgent: (path) => agents?.some((matches) => matches(path)) ?? true,
    matchesTool: (name, of) => (tools?.some((matches) => matches(name)) ?? true) && (kinds?.includes(of) ?? true),
    text: JSON.stringify(rule),
    isForAgent: agent !== undefined && tool === undefined && kind === undefined && args === undefined,
    unmatched: (known) => unmatchedPatterns(texts(agent, makeError), texts(tool, makeError), kinds, known),
    matchesArgs: args === undefined ? undefined : compileArgs(args, LOOSENS[effect as PolicyEffect], errorAt),
  }
}

function errorIn(index: number, where: string): MakeError {
  const rule = `rules[${index}]${where === '' ? '' : `.${where}`}`
  return (expected) => new KernelError('CONFIG_INVALID', `policy: ${rule} ${expected}`, { details: { rule: index } })
}

function texts(value: unknown, makeError: MakeError): readonly string[] | undefined {
  if (value === undefined) return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0) throw makeError('must be a pattern or a list of patterns, got an empty list')
  return list.map((text) => {
    if (typeof text !== 'string') throw makeError(`must be a text or a list of texts, ${got(text)}`)
    checkLength(text, makeError)
    return text
  })
}
