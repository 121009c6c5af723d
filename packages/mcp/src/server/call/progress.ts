import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentEvent, Json } from '@troupe/kernel'
import { TOOL_OUTPUT } from './tool-agent.ts'

/** A piece of text is sent at a line's end, or when it has this length. */
const PIECE_CHARS = 200

/**
 * Tells a client what an agent says and does, if it has asked for progress.
 * Contract: the pieces of an answer in order are its text; after `maxChars` nothing more is told, because nobody may be reading.
 */
export class Progress {
  readonly #ctx: ServerContext
  readonly #left: { chars: number }
  #text = ''
  #count = 0

  constructor(ctx: ServerContext, maxChars: number) {
    this.#ctx = ctx
    this.#left = { chars: maxChars }
  }

  /** Whether the client wants to be told. */
  get wanted(): boolean {
    return this.#ctx.mcpReq._meta?.progressToken !== undefined
  }

  async tell(event: AgentEvent): Promise<void> {
    if (event.type === 'text-delta') return this.#say(event.delta)
    const said = saidBy(event)
    if (said === undefined && event.type !== 'message-end') return
    await this.#flush()
    if (said !== undefined) await this.#send(said)
  }

  async #say(delta: string): Promise<void> {
    this.#text += delta
    if (this.#text.length >= PIECE_CHARS || delta.includes('\n')) await this.#flush()
  }

  async #flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    if (text !== '') await this.#send(text)
  }

  async #send(message: string): Promise<void> {
    const progressToken = this.#ctx.mcpReq._meta?.progressToken
    if (progressToken === undefined || message.length > this.#left.chars) return
    this.#left.chars -= message.length
    this.#count++
    const params = { progressToken, progress: this.#count, message }
    // A client that has left does not have to be told.
    await this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

function saidBy(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'tool-start':
      return `${event.agentName} calls ${event.name}`
    case 'tool-delta':
      return typeof event.delta === 'string' ? event.delta : undefined
    case 'tool-end':
      return event.status === 'failed' ? `${event.name} failed` : undefined
    case 'custom':
      return event.name === TOOL_OUTPUT ? textOfData(event.data) : undefined
    default:
      return undefined
  }
}

function textOfData(data: Json): string | undefined {
  return typeof data === 'string' ? data : undefined
}
