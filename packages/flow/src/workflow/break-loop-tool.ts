import { defineTool, type Tool } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'

/** Options of `breakLoopTool`. */
export interface BreakLoopToolOptions {
  /** @default 'respond' */
  readonly name?: string
  /** @default 'Ends the work with a final response. Call it only when nothing is left to do.' */
  readonly description?: string
}

/**
 * Makes a tool with which a model ends the loop around it and gives the final response.
 * @example chatModelAgent({ name: 'critic', model, tools: [breakLoopTool()] })
 */
export function breakLoopTool(options: BreakLoopToolOptions = {}): Tool<{ response: string }> {
  checkOptionNames('breakLoopTool', options, { name: true, description: true })
  const {
    name = 'respond',
    description = 'Ends the work with a final response. Call it only when nothing is left to do.',
  } = options
  return defineTool({
    name,
    description,
    parameters: {
      type: 'object',
      properties: { response: { type: 'string', description: 'The final response.' } },
      required: ['response'],
    },
    kind: 'think',
    effect: 'idempotent',
    invoke({ response }, ctx) {
      ctx.sendAction({ type: 'break-loop' })
      return { content: response, direct: true }
    },
  })
}
