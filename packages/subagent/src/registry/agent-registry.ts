import { checkOption, checkOptionNames, got, KernelError, type OptionNames, type Tool } from '@troupe/kernel'
import { type AgentDefinition, type AgentOptions, defineAgent, isDefinition } from '../define/define-agent.ts'
import { checkPatterns } from '../define/tool-selection.ts'
import { ENVIRONMENT, Environment, type SubagentEnvironment } from '../execute/environment.ts'
import { AgentExecutor } from '../execute/executor.ts'
import { SubagentTool } from '../execute/subagent-tool.ts'
import { compileNames } from '../glob.ts'
import { invokeAgentTool } from './invoke-agent-tool.ts'
import { type AgentOverride, checkOverrides, overridden } from './overrides.ts'

/** What the agents of a registry share. */
export interface AgentRegistryOptions extends Omit<SubagentEnvironment, 'agents'> {
  /** Whether there are agents at all. @default true */
  readonly enabled?: boolean
  /** The names, or patterns, of the agents that there are. @default all */
  readonly allowed?: readonly string[]
  /** The names, or patterns, of agents that there are not, even if allowed. @default [] */
  readonly excluded?: readonly string[]
  /** Changes to definitions, by name. @default {} */
  readonly overrides?: { readonly [name: string]: AgentOverride }
}

/** The agents that were read from files, and what was wrong with the other files. */
export interface LoadedAgents {
  readonly definitions: readonly AgentDefinition[]
  /** One for each file that is not an agent, with file and line. */
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
 * Contract: register before the first run; an agent that is not allowed, or excluded, is neither listed nor found nor declared.
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
    this.#env = new Environment(options, (name) => this.getDefinition(name))
    const { enabled = true, allowed = ['*'], excluded = [], overrides = {} } = options
    checkOption(typeof enabled === 'boolean', who, 'enabled is true or false', enabled)
    checkOverrides(overrides)
    this.enabled = enabled
    this.#isAllowed = compileNames(checkPatterns(who, ['allowed'], allowed))
    this.#isExcluded = compileNames(checkPatterns(who, ['excluded'], excluded))
    this.#overrides = overrides
  }

  /** Adds an agent. Contract: the first of a name stays, and the second is reported; tells whether it was added. */
  registerAgent(definition: AgentDefinition | AgentOptions): boolean {
    const defined = isDefinition(definition) ? definition : defineAgent(definition)
    const { name } = defined
    if (this.#definitions.has(name)) {
      const message = `registry: an agent of this name is registered already and stays, ${got(name)}`
      this.#env.report(new KernelError('SUBAGENT_DUPLICATE', message, { details: { name } }))
      return false
    }
    const override = Object.hasOwn(this.#overrides, name) ? this.#overrides[name] : undefined
    this.#definitions.set(name, overridden(defined, override))
    return true
  }

  /** Adds agents that were read from files, by `loadAgents` of `@troupe/subagent/node`. Contract: a file that is not an agent is reported, and the others are added. */
  registerLoaded({ definitions, errors }: LoadedAgents): void {
    for (const error of errors) this.#env.report(error)
    for (const definition of definitions) this.#reporting(() => this.registerAgent(definition))
  }

  getAllDefinitions(): readonly AgentDefinition[] {
    return [...this.#definitions.values()].filter(({ name }) => this.#isThere(name))
  }

  getDefinition(name: string): AgentDefinition | undefined {
    return this.#isThere(name) ? this.#definitions.get(name) : undefined
  }

  /** One tool per agent. Contract: an agent that cannot be one is reported once, and the others go on. */
  tools(): readonly SubagentTool[] {
    return this.getAllDefinitions().flatMap((definition) => {
      const known = this.#tools.get(definition) ?? this.#wrap(definition)
      return known instanceof SubagentTool ? [known] : []
    })
  }

  /** One tool for all agents: `invoke_agent { agent_name, … }`. */
  invokeAgentTool(): Tool {
    return invokeAgentTool(this.tools())
  }

  #isThere(name: string): boolean {
    return this.enabled && this.#isAllowed(name) && !this.#isExcluded(name)
  }

  #wrap(definition: AgentDefinition): SubagentTool | KernelError {
    let wrapped: SubagentTool | KernelError
    try {
      const { name } = definition
      checkOption(!this.#env.tools.has(name), `agent ${name}`, 'has not the name of a tool', name)
      wrapped = new SubagentTool(new AgentExecutor(definition, this.#env))
    } catch (cause) {
      const { code, message, details } = KernelError.from(cause)
      wrapped = new KernelError(code, `registry: cannot make a tool of it, ${message}`, { cause, details })
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
