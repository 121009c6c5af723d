import {
  type AgentConfig,
  BaseAgentHandler,
  type InvokeTool,
  type RunContext,
  type ToolCallInput,
  type ToolCallResult,
} from '@troupe/kernel'

/** A handler with state of its own: it keeps the promise of a result, so that equal calls at the same time run once. */
export class CachingHandler extends BaseAgentHandler {
  readonly #cache = new Map<string, Promise<ToolCallResult>>()

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
    const key = `${input.name}:${input.arguments}`
    const running = this.#cache.get(key) ?? next(ctx, input)
    this.#cache.set(key, running)
    try {
      const result = await running
      if (result.error) this.#cache.delete(key)
      return result
    } catch (error) {
      this.#cache.delete(key)
      throw error
    }
  }
}
