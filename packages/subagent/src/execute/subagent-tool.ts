import type { RunContext, Schema, Tool, ToolCallInput, ToolCallResult, ToolEffect, ToolKind } from '@troupe/kernel'
import { validate } from '@troupe/kernel/kit'
import type { AgentDefinition } from '../define/define-agent.ts'
import { validateJsonSchema } from '../define/validate-json-schema.ts'
import { CallGuard } from './caller-guards.ts'
import type { ToolGuard } from './environment.ts'
import { SubagentInvocation } from './subagent-invocation.ts'
import type { SubagentStatus } from './subagent-status.ts'

/**
 * An agent as a tool: its kind is `think`, its output Markdown, and its events stream while it works.
 * Contract: `validate`, `build` and `execute` are separate steps; `invoke` takes validated arguments, as for any tool, and asks the guard of
 * its environment, unless the caller's tools have this guard already.
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
  readonly invoke: (args: unknown, ctx: RunContext, call?: ToolCallInput) => Promise<ToolCallResult>
  readonly #definition: AgentDefinition<Inputs, Output>
  readonly #run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>

  constructor(
    definition: AgentDefinition<Inputs, Output>,
    run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>,
    guard?: ToolGuard,
  ) {
    const { name, displayName = name, description, parameters } = definition
    this.name = name
    this.displayName = displayName
    this.description = description
    this.parameters = parameters
    this.#definition = definition
    this.#run = run
    const { kind, output, effect } = this
    const execute = (args: unknown, ctx: RunContext) => this.build(args as Inputs).execute(ctx)
    const plain = { name, displayName, description, parameters, kind, output, effect, definition, invoke: execute }
    const own = guard && new CallGuard(plain, guard)
    this.invoke = (args, ctx, call) => (own?.appliesIn(ctx) ? own.invoke(args, ctx, call) : execute(args, ctx))
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
