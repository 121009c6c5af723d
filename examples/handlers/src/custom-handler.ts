import {
  type AgentConfig,
  BaseAgentHandler,
  type InvokeTool,
  type RunContext,
  type ToolCallInput,
  type ToolCallResult,
} from '@troupe/kernel'

/** A handler with its own state. It caches finished results only, so that no run waits for another. */
export class CachingHandler extends BaseAgentHandler {
  readonly #cache = new Map<string, ToolCallResult>()

  constructor() {
    super('caching')
  }

  override beforeAgent(_ctx: RunContext, config: AgentConfig): void {
    config.instruction += '\nResults may be cached.'
  }

  override async wrapInvokableToolCall(
    ctx: RunContext,
    input: ToolCallInput,
    next: InvokeTool,
  ): Promise<ToolCallResult> {
    if (input.tool?.effect !== 'pure') return next(ctx, input)
    const { app, user } = ctx.session
    const key = JSON.stringify([app, user, input.name, input.arguments])
    const cached = this.#cache.get(key)
    if (cached) return cached
    const result = await next(ctx, input)
    if (!result.error && !ctx.acted) this.#cache.set(key, result)
    return result
  }
}
