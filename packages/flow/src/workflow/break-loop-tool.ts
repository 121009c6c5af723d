import { checkOptionNames, defineTool, type Tool } from '@troupe/kernel'

/** How the tool shows itself to the model. */
export interface BreakLoopToolOptions {
  /** @default 'respond' */
  readonly name?: string
  /** @default that it ends the work with a final response */
  readonly description?: string
}

/**
 * A tool by which a model ends the loop around it, with its last words.
 * @example chatModelAgent({ name: 'critic', tools: [breakLoopTool()], … })
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
