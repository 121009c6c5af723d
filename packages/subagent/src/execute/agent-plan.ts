import { type Agent, KernelError, type Tool, type ToolMeta } from '@troupe/kernel'
import { checkAgent } from '@troupe/kernel/run'
import type { AgentLimits } from '../define/agent-limits.ts'
import { type AgentDefinition, isDefinition } from '../define/define-agent.ts'
import { compileTemplate, type Template } from '../define/template.ts'
import { budgetedAgent } from './budgeted-agent.ts'
import { guardedBy } from './caller-guards.ts'
import { type AgentPosition, childTools, unresolvedTools } from './child-tools.ts'
import { COMPLETION_INSTRUCTION, completionTool } from './completion-tool.ts'
import type { Environment } from './environment.ts'
import { limitHandler, promptHandler } from './limit-handler.ts'

/** Makes the tool of an agent that another one may call. */
type ChildTool = (definition: AgentDefinition, position: AgentPosition) => Tool

/** Builds the inner agent for one position in the tree, once, when it is first needed. */
export class AgentPlan {
  readonly #definition: AgentDefinition
  readonly #env: Environment
  readonly #position: AgentPosition
  readonly #limits: Required<AgentLimits>
  readonly #childTool: ChildTool
  readonly #prompt: Template
  readonly #query: Template | undefined
  readonly #completion: ToolMeta
  #agent: Agent | undefined
  #graceAgent: Agent | undefined

  constructor(
    definition: AgentDefinition,
    env: Environment,
    position: AgentPosition,
    limits: Required<AgentLimits>,
    childTool: ChildTool,
  ) {
    this.#definition = definition
    this.#env = env
    this.#position = position
    this.#limits = limits
    this.#childTool = childTool
    this.#prompt = compileTemplate(definition.prompt)
    this.#query = definition.query === undefined ? undefined : compileTemplate(definition.query)
    this.#completion = { tool: completionTool(definition), returnDirectly: true }
    env.modelOf(definition)
  }

  get agent(): Agent {
    this.#agent ??= this.#make([...this.#tools(), this.#completion], true)
    return this.#agent
  }

  /** The same agent with the completion tool alone. */
  get graceAgent(): Agent {
    this.#graceAgent ??= this.#make([this.#completion], false)
    return this.#graceAgent
  }

  /** Renders the texts of one call. */
  render(inputs: unknown): { readonly instruction: string; readonly query: string } {
    const values = inputs as { readonly [name: string]: unknown }
    const query = this.#query?.render(values) ?? shown(values)
    return { instruction: this.#prompt.names.size === 0 ? '' : this.#prompt.render(values), query }
  }

  #make(tools: readonly ToolMeta[], limited: boolean): Agent {
    const { name, description, prompt } = this.#definition
    const fixed = this.#prompt.names.size === 0
    const text = fixed ? this.#prompt.render({}) : prompt
    const agent = this.#env.factory({
      name,
      description,
      instruction: `${text}\n\n${COMPLETION_INSTRUCTION}`,
      model: this.#env.modelOf(this.#definition),
      tools,
      handlers: [...(fixed ? [] : [promptHandler(prompt)]), ...(limited ? [limitHandler] : [])],
      maxIterations: limited ? Math.min(this.#limits.maxTurns, Number.MAX_SAFE_INTEGER) : 1,
    })
    checkAgent(agent)
    return budgetedAgent(agent)
  }

  #tools(): ToolMeta[] {
    const { path, guards: above = [] } = this.#position
    const guards = this.#env.guard ? [...above, this.#env.guard] : above
    const { found, unresolved } = childTools(this.#definition, this.#env, this.#position)
    const granted = new Set(found.keys())
    const tools: ToolMeta[] = []
    const missing = unresolved.slice()
    for (const [name, one] of found) {
      let tool: Tool
      try {
        tool = isDefinition(one) ? this.#childTool(one, { ...this.#position, path: [...path, name], granted }) : one
      } catch (error) {
        // An agent that cannot be made is left out, so that its caller still works.
        missing.push({ name, why: KernelError.from(error).message })
        continue
      }
      tools.push({ tool: guardedBy(guards, tool, path), returnDirectly: false })
    }
    if (missing.length > 0) this.#env.report(unresolvedTools(path, missing))
    if (guards.length === 0) this.#env.reportUnguarded(path, tools)
    return tools
  }
}

/** Renders inputs as a first message: a single text as it is, others as JSON. */
function shown(values: { readonly [name: string]: unknown }): string {
  const list = Object.values(values)
  return list.length === 1 && typeof list[0] === 'string' ? list[0] : JSON.stringify(values)
}
