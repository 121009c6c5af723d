import type { Tool, ToolKind } from '@troupe/kernel'
import { INVOKE_AGENT } from '../define/define-agent.ts'
import { identityOf } from './agent-path.ts'
import { type CompiledRule, compileRules, type PolicyEffect, type PolicyRule } from './rule.ts'

/** The properties of a call that rules match. */
export interface PolicyCall {
  /** The names of the sub-agents that lead to the caller, itself included; empty for the main agent. */
  readonly path: readonly string[]
  readonly tool: string
  readonly kind: ToolKind
  /** Validated arguments. */
  readonly args: unknown
  /** The agent that the call runs, if the tool is one; `invoke_agent` has it in its arguments. */
  readonly calls?: string
}

/** The effect of the rules on a call, and the reason. */
export type Decision = {
  readonly effect: PolicyEffect
  readonly by: 'rule' | 'default'
  /** The index of the rule. */
  readonly rule?: number
  /** The agent whose rule or default decided: the caller, or a stricter one above it. */
  readonly agent: string
  readonly reason?: string
}

/**
 * Decides on a call, without side effects.
 * Contract: deny > ask > allow, whatever the order of the rules; without a rule read and think are allowed, everything else asks. The
 * decision for `a/b` is the strictest of those for `a` and `a/b`; a deny or ask rule that matches the main agent holds for all. A deny or
 * ask rule for an agent's tool holds through `invoke_agent`; a deny rule that has only an `agent` also denies calling this agent.
 * @example decide([{ effect: 'deny', tool: 'rm' }], { path: ['a'], tool: 'rm', kind: 'execute', args: {} }).effect // 'deny'
 */
export function decide(rules: readonly PolicyRule[], call: PolicyCall): Decision {
  return decider(compileRules(rules), call)(call.args)
}

/** Makes a function that decides on the calls of one tool by one agent, for which only the arguments vary. */
export function decider(
  rules: readonly CompiledRule[],
  { path, tool, kind, calls }: Omit<PolicyCall, 'args'>,
): (args: unknown) => Decision {
  const prefixes = Array.from({ length: path.length + 1 }, (_, i) => path.slice(0, i))
  // The main agent's default does not apply to the agents below it.
  const counting = path.length === 0 ? prefixes : prefixes.slice(1)
  const ofTool = rules.filter((rule) => rule.matchesTool(tool, kind))
  const names = [{ name: tool, kind }]
  const known = strictDecisions(rules, prefixes, names, calls)
  const strictFor = (args: unknown) => {
    const called = tool === INVOKE_AGENT ? calledIn(args) : undefined
    if (called === undefined) return known
    return strictDecisions(rules, prefixes, [...names, { name: called, kind: 'think' }], called)
  }
  const allows = ofTool
    .filter(({ effect }) => effect === 'allow')
    .map((rule) => ({ rule, covers: counting.map((prefix) => rule.matchesAgent(prefix)) }))
    .filter(({ covers }) => covers.includes(true))
  const isHarmless = kind === 'read' || kind === 'think'
  const own = counting.length - 1
  const asking = counting.map((prefix): Decision => ({ effect: 'ask', by: 'default', agent: identityOf(prefix) }))
  const agent = identityOf(path)
  const allowing = allows.map(({ rule: { index, reason } }) => decided('allow', index, agent, reason))
  const allowedByDefault: Decision = { effect: 'allow', by: 'default', agent }

  return (args) => {
    for (const { rule, decision } of strictFor(args)) if (rule.matchesArgs?.(args) ?? true) return decision
    const matching = allows.map(({ rule }) => rule.matchesArgs?.(args) ?? true)
    const bound = isHarmless
      ? undefined
      : asking.find((_, i) => !allows.some(({ covers }, n) => matching[n] && covers[i]))
    if (bound) return bound
    return allowing[allows.findIndex(({ covers }, n) => matching[n] && covers[own])] ?? allowedByDefault
  }
}

interface RuleDecision {
  readonly rule: CompiledRule
  readonly decision: Decision
}

/** Gives the deny decisions, then the ask decisions, of the rules for these names of the tool, and of those against the agent that is called. */
function strictDecisions(
  rules: readonly CompiledRule[],
  prefixes: readonly (readonly string[])[],
  names: readonly Pick<Tool, 'name' | 'kind'>[],
  called: string | undefined,
): readonly RuleDecision[] {
  const below = called === undefined ? [] : [[...(prefixes.at(-1) ?? []), called]]
  return (['deny', 'ask'] as const).flatMap((effect) =>
    rules
      .filter((rule) => rule.effect === effect)
      .flatMap((rule) => {
        if (effect === 'deny' && rule.isForAgent) return ruleDecisionsOf(rule, [...prefixes, ...below])
        return names.some(({ name, kind }) => rule.matchesTool(name, kind)) ? ruleDecisionsOf(rule, prefixes) : []
      }),
  )
}

function calledIn(args: unknown): string | undefined {
  const { agent_name: name } = Object(args) as { readonly agent_name?: unknown }
  return typeof name === 'string' ? name : undefined
}

/** Applies a rule to the caller: one that matches an agent on the path applies to all below it. */
function ruleDecisionsOf(rule: CompiledRule, prefixes: readonly (readonly string[])[]): RuleDecision[] {
  const bound = prefixes.findLast((prefix) => rule.matchesAgent(prefix))
  if (!bound) return []
  return [{ rule, decision: decided(rule.effect, rule.index, identityOf(bound), rule.reason) }]
}

function decided(effect: PolicyEffect, rule: number, agent: string, reason: string | undefined): Decision {
  return { effect, by: 'rule', rule, agent, ...(reason !== undefined && { reason }) }
}
