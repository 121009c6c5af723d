import { type GrantStore, KernelError, type RunContext, type Tool, type ToolKind } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { type AgentDefinition, isDefinition } from '../define/define-agent.ts'
import { BUDGET } from '../execute/budget.ts'
import { withGuard } from '../execute/caller-guards.ts'
import type { AgentIdentity, GuardedNames, ToolGuard } from '../execute/environment.ts'
import { checkPath, identityOf } from './agent-path.ts'
import type { Bus, BusMessages } from './bus.ts'
import { checkBus } from './create-bus.ts'
import { type Decision, decider, type PolicyCall } from './decide.ts'
import { Guard } from './guard.ts'
import { type CompiledRule, compileRules, type PolicyRule } from './rule.ts'

/** The options of `createPolicy`. */
export interface PolicyOptions<M extends BusMessages = BusMessages> {
  /** @default none: read and think are allowed, write and execute ask */
  readonly rules?: readonly PolicyRule[]
  /** Reaches live listeners and audits. @default none: questions become interrupts */
  readonly bus?: Bus<M>
  /** Time for live listeners to answer, before the question becomes an interrupt or the call is denied. @default 300_000 */
  readonly askTimeoutMs?: number
  /** Keeps answers with `always`, for each owner: `store.grants` of the runner's store; `grants.revoke` takes one back. @default none: an answer holds for one call */
  readonly grants?: GrantStore
}

/** Decides which calls may run. */
export interface Policy {
  /** Gives the effect of the rules on a call, without asking anyone. */
  decide(call: PolicyCall): Decision
  /**
   * Wraps a tool so that it runs only permitted calls.
   * Contract: applies to every way to call it, and when a call runs again after an interrupt; asks at most one question per call, the
   * tool's own `needsApproval` included; a call that may not run gets a result with `POLICY_DENIED` or `TOOL_REFUSED`. The same tool
   * and path give the same guarded tool. A guarded tool of the main agent that runs an agent guards the tools of this agent too.
   */
  readonly guard: ToolGuard
}

/** The original of a guarded tool, so that a tool passed down to a child is guarded once. */
interface Guarded {
  readonly tool: Tool
  readonly path: readonly string[]
}

/**
 * Makes a policy.
 * Contract: throws `CONFIG_INVALID`, which names a wrong rule by its index; later changes to the given rules have no effect.
 * @example
 * const policy = createPolicy({ rules: [{ effect: 'deny', tool: 'shell' }, { effect: 'allow', agent: 'coder', tool: 'write_file' }] })
 * const tool = policy.guard(writeFile, { path: ['coder'] })
 */
export function createPolicy<M extends BusMessages = BusMessages>(options: PolicyOptions<M> = {}): Policy {
  checkOptionNames('policy', options, { rules: true, bus: true, askTimeoutMs: true, grants: true })
  const { rules = [], askTimeoutMs = 300_000, grants } = options
  const compiled = compileRules(rules)
  const bus = checkBus(options.bus)
  checkOption(grants === undefined || isGrantStore(grants), 'policy', 'grants must have list, add and revoke', grants)
  const textOf = (rule: number) => compiled[rule]?.text
  checkOption(
    typeof askTimeoutMs === 'number' && askTimeoutMs > 0,
    'policy',
    'askTimeoutMs must be a number of milliseconds above 0',
    askTimeoutMs,
  )
  const known = new WeakMap<Tool, Guarded>()
  const made = new WeakMap<Tool, Map<string, Tool>>()

  /** The tools guarded so far, until the rules are checked against them. */
  let ofMainAgent: Map<string, ToolKind> | undefined = new Map()

  const guardNew = (tool: Tool, path: readonly string[], agent: string): Tool => {
    const { name, kind } = tool
    const callerTool = Object.freeze({ agent, tool: name, kind })
    const definition = definitionOf(tool)
    const decide = decider(compiled, { path, tool: name, kind, ...(definition && { calls: definition.name }) })
    // The guard of a sub-agent's environment is in the context already.
    const enter = (ctx: RunContext) => (ctx.get(BUDGET) ? ctx : withGuard(ctx, guard))
    const guarded = guardedTool(
      tool,
      new Guard({ tool, callerTool, path, bus, askTimeoutMs, grants, decide, textOf }),
      enter,
    )
    known.set(guarded, { tool, path })
    ofMainAgent?.set(name, kind)
    return guarded
  }
  const guard: ToolGuard = Object.assign(
    (given: Tool, identity: AgentIdentity): Tool => {
      const path = checkPath('policy.guard', identity.path)
      const before = known.get(given)
      const tool = before?.path.every((name, i) => name === path[i]) ? before.tool : given
      const agent = identityOf(path)
      const ofTool = made.get(tool) ?? new Map<string, Tool>()
      const guarded = ofTool.get(agent) ?? guardNew(tool, path, agent)
      made.set(tool, ofTool.set(agent, guarded))
      return guarded
    },
    {
      unmatched({ tools, agents }: GuardedNames): readonly KernelError[] {
        const own = [...(ofMainAgent ?? [])].map(([name, kind]) => ({ name, kind }))
        ofMainAgent = undefined
        return unmatchedRules(compiled, { tools: [...tools, ...own], agents })
      },
    },
  )
  return { decide: (call) => decider(compiled, call)(call.args), guard }
}

function isGrantStore(given: unknown): boolean {
  const { list, add, revoke } = Object(given) as Record<string, unknown>
  return [list, add, revoke].every((method) => typeof method === 'function')
}

function unmatchedRules(rules: readonly CompiledRule[], known: GuardedNames): readonly KernelError[] {
  return rules.flatMap((rule) =>
    rule.unmatched(known).map((problem) => {
      const message = `policy: rules[${rule.index}] matches nothing by its ${problem}`
      return new KernelError('POLICY_RULE_UNMATCHED', message, { details: { rule: rule.index } })
    }),
  )
}

/** Gives the definition of a tool that is an agent. */
function definitionOf(tool: Tool): AgentDefinition | undefined {
  const { definition } = tool as { readonly definition?: unknown }
  return isDefinition(definition) ? definition : undefined
}

/** Contract: has no `needsApproval`; the guard calls it, because handlers may still change the arguments before that. */
function guardedTool(tool: Tool, guard: Guard, enter: (ctx: RunContext) => RunContext): Tool {
  const { name, displayName, description, parameters, kind, output, effect, longRunning, onError } = tool
  const definition = definitionOf(tool)
  return Object.freeze<Tool & { readonly definition?: AgentDefinition }>({
    ...(definition && { definition }),
    name,
    description,
    parameters,
    kind,
    ...(displayName !== undefined && { displayName }),
    ...(output !== undefined && { output }),
    ...(effect !== undefined && { effect }),
    ...(longRunning !== undefined && { longRunning }),
    ...(onError !== undefined && { onError }),
    // A long-running call starts with `invoke`, even if the tool itself has none.
    ...((tool.invoke || longRunning) && {
      invoke: (args, ctx, call) =>
        guard.allowsAtOnce(args) ? tool.invoke?.(args, enter(ctx), call) : guard.invoke(args, enter(ctx), call),
    }),
    ...(tool.stream && {
      stream: (args, ctx, call) =>
        guard.allowsAtOnce(args) && tool.stream
          ? tool.stream(args, enter(ctx), call)
          : guard.stream(args, enter(ctx), call),
    }),
  })
}
