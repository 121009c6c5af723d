import { type AgentFactory, type ChatModel, KernelError, type Tool, type ToolKind, type ToolMeta } from '@troupe/kernel'
import { checkModel, checkOption, checkOptionNames, type OptionNames, safeReport, toolMetas } from '@troupe/kernel/kit'
import { type AgentLimits, checkLimits } from '../define/agent-limits.ts'
import { type AgentDefinition, INVOKE_AGENT, isDefinition, isReserved } from '../define/define-agent.ts'

/** The agent that has a tool. */
export interface AgentIdentity {
  /** The names of the definitions from the outermost sub-agent to this one; empty for the main agent. */
  readonly path: readonly string[]
}

/** The tools and agents of an app, which the rules of a guard can match. */
export interface GuardedNames {
  readonly tools: readonly Pick<Tool, 'name' | 'kind'>[]
  readonly agents: readonly string[]
}

/** Wraps a tool of a sub-agent, or an agent that the main agent calls. Contract: gives a tool of the same name; called once per tool and position in the tree. */
export interface ToolGuard {
  (tool: Tool, identity: AgentIdentity): Tool
  /** Gives a warning for each rule that can match none of these. */
  unmatched?(known: GuardedNames): readonly KernelError[]
}

/** The models, tools and settings with which agents run. Contract: the whole tree below a call shares one environment. */
export interface SubagentEnvironment {
  /** Makes the inner agents, for example `chatModelAgent`. */
  readonly factory: AgentFactory
  /** The model for definitions that do not name one. */
  readonly model?: ChatModel
  /** Models that definitions may name. @default {} */
  readonly models?: { readonly [name: string]: ChatModel }
  /** The tools that definitions may name. @default [] */
  readonly tools?: readonly Tool[]
  /** The agents that definitions may name; an AgentRegistry fills this in. @default [] */
  readonly agents?: readonly AgentDefinition[]
  /** Wraps every tool of every agent, such as the guard of a policy. */
  readonly guard?: ToolGuard
  /** Limits for definitions that do not set their own. */
  readonly limits?: AgentLimits
  /** Whether the events of agents go into the stream of their caller. @default true */
  readonly forward?: boolean
  /** Receives warnings. @default console.error */
  readonly report?: (error: KernelError) => void
}

/** The options of an environment by name. */
export const ENVIRONMENT: OptionNames<SubagentEnvironment> = {
  factory: true,
  model: true,
  models: true,
  tools: true,
  agents: true,
  guard: true,
  limits: true,
  forward: true,
  report: true,
}

/** Where an environment finds its agents. */
interface AgentSource {
  getDefinition(name: string): AgentDefinition | undefined
  getAllDefinitions(): readonly AgentDefinition[]
}

/** The environments of agents that were made tools. */
const ENVIRONMENTS: WeakMap<Tool, Environment> = new WeakMap()

/** An environment, checked once and shared by a whole tree. */
export class Environment {
  readonly factory: AgentFactory
  readonly tools: ReadonlyMap<string, Tool>
  readonly guard: ToolGuard | undefined
  readonly limits: AgentLimits | undefined
  readonly forward: boolean
  readonly report: (error: KernelError) => void
  readonly #model: ChatModel | undefined
  readonly #models: ReadonlyMap<string, ChatModel>
  readonly #agents: AgentSource
  #checkedGuard = false
  #reportedUnguarded = false

  constructor(options: SubagentEnvironment, registry?: AgentSource) {
    const who = 'subagents'
    checkOption(typeof options === 'object' && options !== null, who, 'expected an environment', options)
    if (!registry) checkOptionNames(who, options, ENVIRONMENT)
    const { factory, model, models = {}, tools = [], agents = [], guard, limits, forward = true, report } = options
    checkOption(typeof factory === 'function', who, 'factory must be a function that makes agents', factory)
    checkOption(guard === undefined || typeof guard === 'function', who, 'guard must be a function', guard)
    checkOption(typeof forward === 'boolean', who, 'forward must be true or false', forward)
    checkOption(report === undefined || typeof report === 'function', who, 'report must be a function', report)
    for (const [name, one] of Object.entries({ ...models, ...(model && { model }) })) {
      checkModel(who, name === 'model' ? name : `models.${name}`, one)
    }
    if (limits !== undefined) checkLimits(who, limits)
    const metas = toolMetas(tools)
    for (const { tool } of metas)
      checkOption(!isReserved(tool.name), who, 'a tool must not have a reserved name', tool.name)
    const known = new Map<string, AgentDefinition>()
    for (const agent of agents) {
      checkOption(isDefinition(agent), who, 'agents must be made by defineAgent', agent)
      const taken = known.has(agent.name) || metas.some(({ tool }) => tool.name === agent.name)
      checkOption(!taken, who, 'names of agents and tools must be unique', agent.name)
      known.set(agent.name, agent)
    }
    this.factory = factory
    this.tools = new Map(metas.map(({ tool }) => [tool.name, tool]))
    this.guard = guard
    this.limits = limits
    this.forward = forward
    this.report = safeReport(report)
    this.#model = model
    this.#models = new Map(Object.entries(models))
    this.#agents = registry ?? {
      getDefinition: (name) => known.get(name),
      getAllDefinitions: () => [...known.values()],
    }
  }

  static of(options: SubagentEnvironment | Environment): Environment {
    return options instanceof Environment ? options : new Environment(options)
  }

  agent(name: string): AgentDefinition | undefined {
    return this.#agents.getDefinition(name)
  }

  agentNames(): string[] {
    return this.#agents.getAllDefinitions().map(({ name }) => name)
  }

  /** Notes a tool made of an agent, so that `namesOf` knows what is behind it. */
  made(tool: Tool & { readonly definition: AgentDefinition }, alone: boolean): void {
    ENVIRONMENTS.set(tool, this)
    if (alone) this.checkGuard([tool.definition.name])
  }

  /**
   * Reports the rules of the guard that match nothing, once.
   * Contract: waits until the current code has run, because the guard may be applied to tools of the main agent too.
   */
  checkGuard(agents: readonly string[] = []): void {
    const { guard } = this
    if (this.#checkedGuard || !guard?.unmatched) return
    this.#checkedGuard = true
    queueMicrotask(() => {
      const { tools, agents: names } = namesOf(this, new Set())
      const all = [...names, ...agents]
      const asTools = [...all, INVOKE_AGENT].map((name) => ({ name, kind: 'think' as const }))
      for (const warning of guard.unmatched?.({ tools: [...tools, ...asTools], agents: all }) ?? [])
        this.report(warning)
    })
  }

  /** Reports once that tools which change something run without a guard and without asking. */
  reportUnguarded(path: readonly string[], tools: readonly ToolMeta[]): void {
    const risky = tools.filter(({ tool: { kind, needsApproval } }) => isRisky(kind) && !needsApproval)
    if (this.#reportedUnguarded || risky.length === 0) return
    this.#reportedUnguarded = true
    const names = risky.map(({ tool }) => tool.name)
    const message = `agent ${path.join('/')}: calls ${names.join(', ')} without a guard, so nobody is asked; set guard, such as createPolicy().guard, or guard: (tool) => tool if this is meant`
    this.report(new KernelError('SUBAGENT_UNGUARDED', message, { details: { path, names } }))
  }

  /** Gives the model of an agent. Contract: throws `CONFIG_INVALID` if it has none. */
  modelOf({ name, model }: AgentDefinition): ChatModel {
    const found = typeof model === 'string' ? this.#models.get(model) : (model ?? this.#model)
    if (found) return found
    const known = [...this.#models.keys()].join(', ') || 'none'
    const message =
      model === undefined
        ? `agent ${name}: has no model; set its model or a default model in the environment`
        : `agent ${name}: the environment has no model of this name (it has: ${known}), got "${model}"`
    throw new KernelError('CONFIG_INVALID', message)
  }
}

/** Gives the tools and agents of an environment, and of the environments of the agents among its tools. */
function namesOf(env: Environment, seen: Set<Environment>): GuardedNames {
  if (seen.has(env)) return { tools: [], agents: [] }
  seen.add(env)
  const tools: Tool[] = []
  const agents = env.agentNames()
  for (const tool of env.tools.values()) {
    tools.push(tool)
    const other = ENVIRONMENTS.get(tool)
    if (!other) continue
    const inside = namesOf(other, seen)
    tools.push(...(inside.tools as readonly Tool[]))
    agents.push(tool.name, ...inside.agents)
  }
  return { tools, agents }
}

function isRisky(kind: ToolKind): boolean {
  return kind === 'write' || kind === 'execute'
}
