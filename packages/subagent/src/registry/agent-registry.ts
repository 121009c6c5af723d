import { KernelError, type Tool } from '@troupe/kernel'
import { checkOption, checkOptionNames, got, type OptionNames } from '@troupe/kernel/kit'
import { type AgentDefinition, type AgentOptions, defineAgent, isDefinition } from '../define/define-agent.ts'
import { checkPatterns } from '../define/tool-selection.ts'
import { subagentTool } from '../execute/agent-executor.ts'
import { ENVIRONMENT, Environment, type SubagentEnvironment } from '../execute/environment.ts'
import { SubagentTool } from '../execute/subagent-tool.ts'
import { compileNames } from '../glob.ts'
import { type AgentOverride, checkOverrides, overridden } from './agent-override.ts'
import { invokeAgentTool } from './invoke-agent-tool.ts'

/** The options of an `AgentRegistry`, shared by its agents. */
export interface AgentRegistryOptions extends Omit<SubagentEnvironment, 'agents'> {
  /** Whether the registry offers any agents. @default true */
  readonly enabled?: boolean
  /** Names or patterns of the agents to offer. @default all */
  readonly allowed?: readonly string[]
  /** Names or patterns of agents not to offer, even if allowed. @default [] */
  readonly excluded?: readonly string[]
  /** Changes to definitions, by name. @default {} */
  readonly overrides?: { readonly [name: string]: AgentOverride }
}

/** The agents read from files, and the errors of the files that are not agents. */
export interface LoadedAgents {
  readonly definitions: readonly AgentDefinition[]
  /** One error with file and line for each file that is not an agent. */
  readonly errors: readonly KernelError[]
}

const { agents: _, ...SHARED } = ENVIRONMENT
const NAMES: OptionNames<AgentRegistryOptions> = {
  ...SHARED,
  enabled: true,
  allowed: true,
  excluded: true,
  overrides: true,
}
const ALIASES = { allow: 'allowed', allowlist: 'allowed', deny: 'excluded', exclude: 'excluded' } as const

/**
 * The agents of an app.
 * Contract: register before the first run; an agent that is excluded or not allowed is neither listed, nor found, nor offered as a tool.
 * @example
 * const agents = new AgentRegistry({ factory: chatModelAgent, model, tools: [readFile, grep] })
 * agents.registerAgent(investigator)
 * const lead = chatModelAgent({ name: 'lead', model, tools: agents.tools() })
 */
export class AgentRegistry {
  readonly enabled: boolean
  readonly #env: Environment
  readonly #isAllowed: (name: string) => boolean
  readonly #isExcluded: (name: string) => boolean
  readonly #overrides: NonNullable<AgentRegistryOptions['overrides']>
  readonly #definitions: Map<string, AgentDefinition> = new Map()
  readonly #tools: Map<AgentDefinition, SubagentTool | KernelError> = new Map()

  constructor(options: AgentRegistryOptions) {
    const who = 'registry'
    checkOptionNames(who, options, NAMES, ALIASES)
    this.#env = new Environment(options, this)
    const { enabled = true, allowed = ['*'], excluded = [], overrides = {} } = options
    checkOption(typeof enabled === 'boolean', who, 'enabled must be true or false', enabled)
    checkOverrides(overrides)
    this.enabled = enabled
    this.#isAllowed = compileNames(checkPatterns(who, ['allowed'], allowed))
    this.#isExcluded = compileNames(checkPatterns(who, ['excluded'], excluded))
    this.#overrides = overrides
  }

  /** Adds an agent and returns whether it was added. Contract: the first agent of a name stays; a second one is reported. */
  registerAgent(definition: AgentDefinition | AgentOptions): boolean {
    const defined = isDefinition(definition) ? definition : defineAgent(definition)
    const { name } = defined
    if (this.#definitions.has(name)) {
      const message = `registry: an agent of this name is already registered, so the second one is ignored, ${got(name)}`
      this.#env.report(new KernelError('SUBAGENT_DUPLICATE', message, { details: { name } }))
      return false
    }
    const override = Object.hasOwn(this.#overrides, name) ? this.#overrides[name] : undefined
    this.#definitions.set(name, overridden(defined, override))
    return true
  }

  /** Adds agents read from files by `loadAgents` of `@troupe/subagent/node`. Contract: reports each file that is not an agent and adds the others. */
  registerLoaded({ definitions, errors }: LoadedAgents): void {
    for (const error of errors) this.#env.report(error)
    for (const definition of definitions) this.#reporting(() => this.registerAgent(definition))
  }

  getAllDefinitions(): readonly AgentDefinition[] {
    return [...this.#definitions.values()].filter(({ name }) => this.#isOffered(name))
  }

  getDefinition(name: string): AgentDefinition | undefined {
    return this.#isOffered(name) ? this.#definitions.get(name) : undefined
  }

  /** Gives one tool per agent. Contract: an agent that cannot become a tool is reported once and left out. */
  tools(): readonly SubagentTool[] {
    this.#env.checkGuard()
    return this.getAllDefinitions().flatMap((definition) => {
      const known = this.#tools.get(definition) ?? this.#wrap(definition)
      return known instanceof SubagentTool ? [known] : []
    })
  }

  /** Gives one tool for all agents: `invoke_agent { agent_name, … }`. */
  invokeAgentTool(): Tool {
    return invokeAgentTool(this.tools(), this.#env.guard)
  }

  #isOffered(name: string): boolean {
    return this.enabled && this.#isAllowed(name) && !this.#isExcluded(name)
  }

  #wrap(definition: AgentDefinition): SubagentTool | KernelError {
    let wrapped: SubagentTool | KernelError
    try {
      const { name } = definition
      checkOption(!this.#env.tools.has(name), `agent ${name}`, 'must not have the name of a tool', name)
      wrapped = subagentTool(definition, this.#env)
    } catch (cause) {
      const { code, message, details } = KernelError.from(cause)
      wrapped = new KernelError(code, `registry: cannot make a tool of an agent, ${message}`, { cause, details })
      this.#env.report(wrapped)
    }
    this.#tools.set(definition, wrapped)
    return wrapped
  }

  #reporting(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#env.report(KernelError.from(error))
    }
  }
}
