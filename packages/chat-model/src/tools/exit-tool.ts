import { defineTool, type Tool } from '@troupe/kernel'

/**
 * The tool with which a model ends the run; its argument is the result.
 * @example chatModelAgent({ name: 'weather', model, exit: exitTool() })
 */
export function exitTool(): Tool {
  return defineTool({
    name: 'exit',
    description: 'Exit the agent process and return the final result.',
    parameters: {
      type: 'object',
      properties: { final_result: { type: 'string', description: 'the final result to return' } },
      required: ['final_result'],
    },
    kind: 'think',
    effect: 'idempotent',
    invoke({ final_result }, ctx) {
      ctx.sendAction({ type: 'exit', result: final_result })
      return final_result
    },
  }) as Tool
}
