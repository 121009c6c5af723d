import type { AgentHandler } from '@troupe/kernel'
import { COMPLETE_TASK } from '../define/define-agent.ts'
import { budgetOf } from './budget.ts'

/** Keeps an agent within its limits. Contract: shared by all calls; the budget of each call is in its context. */
export const limitHandler: AgentHandler = {
  name: 'subagent-limits',
  beforeAgent(ctx, { tools }) {
    budgetOf(ctx).toolNames = new Set(tools.map(({ tool }) => tool.name))
  },
  beforeModelRewriteHistory(ctx) {
    budgetOf(ctx).beforeModel()
  },
  afterModelRewriteHistory(ctx, messages) {
    const last = messages.at(-1)
    if (last?.role === 'assistant') budgetOf(ctx).beforeTurn(last.toolCalls ?? [])
  },
  async wrapInvokableToolCall(ctx, input, next) {
    if (input.name === COMPLETE_TASK || !input.tool) return next(ctx, input)
    const error = budgetOf(ctx).beforeTool(input.callId)
    if (error) return { content: `Error: ${error.message}`, error: error.toJSON() }
    return next(ctx, input)
  },
}

/** Puts the inputs of a call into the instruction of its agent. */
export function promptHandler(template: string): AgentHandler {
  return {
    name: 'subagent-prompt',
    beforeAgent(ctx, config) {
      config.instruction = config.instruction.split(template).join(budgetOf(ctx).instruction)
    },
  }
}
