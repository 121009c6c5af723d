import { KernelError, type ModelPart } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'

/** Every part costs memory, even an empty one. */
const PART = 16

/** The length of an answer with one part more. Contract: throws `ANSWER_TOO_LARGE` for the part that is too much; called for every part, so it must be cheap. */
export function answerLength(modelName: string, length: number, part: ModelPart, most: number): number {
  const longer = length + PART + lengthOf(part, most)
  if (longer <= most) return longer
  const message = `model ${modelName}: its answer has more than ${most} characters; raise maxAnswerChars if it needs more`
  throw new KernelError('ANSWER_TOO_LARGE', message, { details: { maxAnswerChars: most } })
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
