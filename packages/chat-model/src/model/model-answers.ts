import {
  type CallModel,
  type ContextKey,
  contextKey,
  type ModelPart,
  type ModelRequest,
  type RunContext,
  type Sink,
  stream,
  type Usage,
} from '@troupe/kernel'
import { addUsage, NO_USAGE, pipe, sinkTo } from '@troupe/kernel/kit'

/** The answers of one turn, for the model call inside the wraps. */
export const MODEL_ANSWERS: ContextKey<ModelAnswers> = contextKey<ModelAnswers>('chat-model.model-answers')

/** The answers that the model gives inside the wraps of one turn, in case a wrap asks: the turn runs again then, and the model is not asked again. */
export class ModelAnswers {
  readonly #before: readonly (readonly ModelPart[] | null)[]
  readonly #made: (readonly ModelPart[] | null)[] = []
  /** The tokens of the answers that were made now. */
  usage: Usage = NO_USAGE

  constructor(before: readonly (readonly ModelPart[] | null)[] = []) {
    this.#before = before
  }

  /** All answers so far, also those that have not been asked for again yet. */
  get made(): readonly (readonly ModelPart[] | null)[] {
    return [...this.#made, ...this.#before.slice(this.#made.length)]
  }

  /** Calls the model, or gives the answer that it gave before. Contract: the n-th call of the turn gets the n-th answer. */
  async give(ctx: RunContext, request: ModelRequest, next: CallModel, sink: Sink<ModelPart>): Promise<void> {
    const place = this.#made.push(null) - 1
    const before = this.#before[place]
    if (before) {
      this.#made[place] = before
      for (const part of before) await sink.write(part)
      return
    }
    let parts: ModelPart[] = []
    const keep = (part: ModelPart) => {
      if (part?.type === 'restart') parts = []
      else parts.push(part?.type === 'finish' ? { ...part, usage: NO_USAGE } : part)
      if (part?.type === 'finish') this.usage = addUsage(this.usage, part.usage)
      return sink.write(part)
    }
    await pipe(next(ctx, request), sinkTo(sink, keep))
    this.#made[place] = parts
  }
}

/** Keeps the answers of a model call while its turn lasts. */
export function keepingAnswers(next: CallModel): CallModel {
  return (ctx, request) => {
    const answers = ctx.get(MODEL_ANSWERS)
    return answers ? stream((sink) => answers.give(ctx, request, next, sink)) : next(ctx, request)
  }
}
