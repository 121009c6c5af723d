import {
  type RunContext,
  type Schema,
  type Tool,
  type ToolCallResult,
  type ToolEffect,
  type ToolKind,
  validate,
} from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import { validateJsonSchema } from '../define/validator.ts'
import type { AgentExecutor } from './executor.ts'
import { SubagentInvocation } from './subagent-invocation.ts'

/**
 * An agent as a tool: thinks, answers in Markdown, and shows what it does as it does it.
 * Contract: built, validated and executed apart; `invoke` takes arguments that are validated, as those of any tool are.
 */
export class SubagentTool<Inputs = unknown, Output = unknown> implements Tool {
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly parameters: Schema
  readonly kind: ToolKind = 'think'
  readonly output = 'markdown' as const
  readonly effect: ToolEffect = 'nested'
  /** A property of its own, so that it is still there in a copy made by a spread. */
  readonly invoke: (args: unknown, ctx: RunContext) => Promise<ToolCallResult>
  readonly #executor: AgentExecutor<Inputs, Output>

  constructor(executor: AgentExecutor<Inputs, Output>) {
    const { name, displayName = name, description, parameters } = executor.definition
    this.name = name
    this.displayName = displayName
    this.description = description
    this.parameters = parameters
    this.#executor = executor
    this.invoke = (args, ctx) => this.build(args as Inputs).execute(ctx)
  }

  get definition(): AgentDefinition<Inputs, Output> {
    return this.#executor.definition
  }

  /** The arguments as the agent gets them. Contract: rejects with `VALIDATION_FAILED`. */
  async validate(args: unknown): Promise<Inputs> {
    return (await validate(this.parameters, args, validateJsonSchema)) as Inputs
  }

  /** One call, not begun yet. */
  build(inputs: Inputs): SubagentInvocation<Inputs, Output> {
    return new SubagentInvocation(this.#executor, inputs)
  }
}
