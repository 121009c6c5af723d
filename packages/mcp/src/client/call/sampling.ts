import type { CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client'
import { type Agent, KernelError, type NewMessage, type RunContext } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'

const MAX_REQUESTS = 10

/** Answers what servers ask a model: by a run of an agent inside the tool call, so that its tokens, limits and policies are those of the run. */
export class Sampler {
  readonly #agent: Agent
  /** The requests in each call so far. */
  readonly #counts = new WeakMap<RunContext, number>()

  constructor(agent: Agent) {
    this.#agent = agent
  }

  async sample(server: string, params: CreateMessageRequestParams, ctx: RunContext): Promise<CreateMessageResult> {
    const count = (this.#counts.get(ctx) ?? 0) + 1
    this.#counts.set(ctx, count)
    if (count > MAX_REQUESTS) {
      throw new KernelError(
        'MCP_CALL_FAILED',
        `mcp server ${server}: asked a model more than ${MAX_REQUESTS} times in one call`,
      )
    }
    const { text } = await runNested(this.#agent, { messages: messagesOf(params) }, ctx, { forward: false })
    return { role: 'assistant', content: { type: 'text', text }, model: this.#agent.name, stopReason: 'endTurn' }
  }
}

function messagesOf({ systemPrompt, messages }: CreateMessageRequestParams): NewMessage[] {
  const said = messages.map(({ role, content }): NewMessage => {
    const blocks = Array.isArray(content) ? content : [content]
    return { role, content: blocks.map(textOfBlock).join('\n') }
  })
  return systemPrompt === undefined ? said : [{ role: 'system', content: systemPrompt }, ...said]
}

function textOfBlock(block: { readonly type: string; readonly text?: unknown }): string {
  if (block.type === 'text') return String(block.text)
  throw new KernelError('MCP_CALL_FAILED', `sampling: only text can be passed to the model, got ${block.type}`)
}
