import type { RunContext, Schema, Tool, ToolCallResult, ToolEffect, ToolKind } from '@troupe/kernel'
import { validate } from '@troupe/kernel/kit'
import type { AgentDefinition } from '../define/define-agent.ts'
import { validateJsonSchema } from '../define/validate-json-schema.ts'
import { SubagentInvocation } from './subagent-invocation.ts'
import type { SubagentStatus } from './subagent-status.ts'

/**
 * An agent as a tool: its kind is `think`, its output Markdown, and its events stream while it works.
 * Contract: `validate`, `build` and `execute` are separate steps; `invoke` takes validated arguments, as for any tool.
 */
export class SubagentTool<Inputs = unknown, Output = unknown> implements Tool {
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly parameters: Schema
  readonly kind: ToolKind = 'think'
  readonly output = 'markdown' as const
  readonly effect: ToolEffect = 'nested'
  /** An own property, so that a copy made with a spread keeps it. */
  readonly invoke: (args: unknown, ctx: RunContext) => Promise<ToolCallResult>
  readonly #definition: AgentDefinition<Inputs, Output>
  readonly #run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>

  constructor(
    definition: AgentDefinition<Inputs, Output>,
    run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>,
  ) {
    const { name, displayName = name, description, parameters } = definition
    this.name = name
    this.displayName = displayName
    this.description = description
    this.parameters = parameters
    this.#definition = definition
    this.#run = run
    this.invoke = (args, ctx) => this.build(args as Inputs).execute(ctx)
  }

  get definition(): AgentDefinition<Inputs, Output> {
    return this.#definition
  }

  /** Validates arguments. Contract: rejects with `VALIDATION_FAILED`. */
  async validate(args: unknown): Promise<Inputs> {
    return (await validate(this.parameters, args, validateJsonSchema)) as Inputs
  }

  /** Makes a call without starting it. */
  build(inputs: Inputs): SubagentInvocation<Inputs, Output> {
    return new SubagentInvocation(this.#definition, inputs, this.#run)
  }
}
