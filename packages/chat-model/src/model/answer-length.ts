import { KernelError, type ModelPart } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'

/** Every part costs memory, even an empty one. */
const PART = 16

/** Counts the characters of one model answer. Contract: called for every part, so it must be cheap. */
export class AnswerLength {
  readonly #modelName: string
  readonly #most: number
  #length = 0

  constructor(modelName: string, most: number) {
    this.#modelName = modelName
    this.#most = most
  }

  /** Contract: throws `ANSWER_TOO_LARGE` for the part that is too much. */
  add(part: ModelPart): void {
    this.#length += PART + lengthOf(part, this.#most)
    if (this.#length <= this.#most) return
    const message = `model ${this.#modelName}: its answer has more than ${this.#most} characters; raise maxAnswerChars if it needs more`
    throw new KernelError('ANSWER_TOO_LARGE', message, { details: { maxAnswerChars: this.#most } })
  }
}

function lengthOf(part: ModelPart, most: number): number {
  switch (part?.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
      // A delta that is not text is refused later.
      return part.delta?.length ?? 0
    case 'file':
      return jsonLength(part, most)
    default:
      // Names and ids are short; only a provider's metadata may be long.
      return part && 'metadata' in part ? jsonLength(part, most) : 0
  }
}
