import { type Json, KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import type { AgentExecutor } from './executor.ts'
import { resultOf, type SubagentStatus } from './status.ts'

/** One call of an agent. */
export class SubagentInvocation<Inputs = unknown, Output = unknown> {
  readonly inputs: Inputs
  readonly #executor: AgentExecutor<Inputs, Output>

  constructor(executor: AgentExecutor<Inputs, Output>, inputs: Inputs) {
    this.#executor = executor
    this.inputs = inputs
  }

  get definition(): AgentDefinition<Inputs, Output> {
    return this.#executor.definition
  }

  /**
   * Runs the agent inside a tool call.
   * Contract: a failure is a result that the caller's model can read; only aborts and questions to a person are thrown.
   */
  async execute(ctx: RunContext): Promise<ToolCallResult> {
    const status = await this.#executor.run(this.inputs, ctx)
    if (status.reason === 'aborted') {
      ctx.throwIfAborted()
      throw KernelError.from(status.error)
    }
    return resultOf(this.definition, status as SubagentStatus<Json>)
  }
}
