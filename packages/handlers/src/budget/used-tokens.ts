import type { ModelPart, ModelRequest, Usage } from '@troupe/kernel'
import { estimateTokens } from '@troupe/kernel/history'
import { addUsage, NO_USAGE } from '@troupe/kernel/kit'

const CHARS_PER_TOKEN = 4

/** The tokens of one model call: those that the model reports, and an estimate for attempts that broke off. */
export class UsedTokens {
  readonly #request: ModelRequest
  /** Attempts that broke off. */
  #lost: Usage = NO_USAGE
  /** The characters of the attempt that is under way; undefined if it has said nothing. */
  #chars: number | undefined
  #reported: Usage | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  add(part: ModelPart): void {
    switch (part.type) {
      case 'restart':
        this.#breakOff()
        return
      case 'finish':
        this.#reported = part.usage
        return
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-call-delta':
        this.#chars = (this.#chars ?? 0) + part.delta.length
        return
      default:
        this.#chars ??= 0
    }
  }

  /** All tokens, once the call has ended. */
  total(): Usage {
    if (this.#reported) return addUsage(this.#lost, this.#reported)
    this.#breakOff()
    return this.#lost
  }

  #breakOff(): void {
    const reported = this.#reported
    if (reported) this.#lost = addUsage(this.#lost, reported)
    else if (this.#chars !== undefined) this.#lost = addUsage(this.#lost, this.#estimate(this.#chars))
    this.#chars = undefined
    this.#reported = undefined
  }

  #estimate(chars: number): Usage {
    const { messages, instruction } = this.#request
    const said = messages.reduce((sum, message) => sum + estimateTokens(message), 0)
    return {
      inputTokens: said + Math.ceil(instruction.length / CHARS_PER_TOKEN),
      outputTokens: Math.ceil(chars / CHARS_PER_TOKEN),
    }
  }
}
