import { type Json, KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import { resultOf, type SubagentStatus } from './subagent-status.ts'

/** One call of an agent. */
export class SubagentInvocation<Inputs = unknown, Output = unknown> {
  readonly definition: AgentDefinition<Inputs, Output>
  readonly inputs: Inputs
  readonly #run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>

  constructor(
    definition: AgentDefinition<Inputs, Output>,
    inputs: Inputs,
    run: (inputs: Inputs, ctx: RunContext) => Promise<SubagentStatus<Output>>,
  ) {
    this.definition = definition
    this.inputs = inputs
    this.#run = run
  }

  /**
   * Runs the agent inside a tool call.
   * Contract: a failure is a result that the caller's model can read; only aborts and questions to a person are thrown.
   */
  async execute(ctx: RunContext): Promise<ToolCallResult> {
    const status = await this.#run(this.inputs, ctx)
    if (status.reason === 'aborted') {
      ctx.throwIfAborted()
      throw KernelError.from(status.error)
    }
    return resultOf(this.definition, status as SubagentStatus<Json>)
  }
}
