import { type ContextKey, contextKey, type ModelPart, type Sink, type Usage } from '@troupe/kernel'
import { addUsage, NO_USAGE, sinkTo } from '@troupe/kernel/kit'

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

  /** Begins a call. Contract: the n-th call of the turn gets the n-th answer from before, or keeps the one that it writes. */
  begin(sink: Sink<ModelPart>): readonly ModelPart[] | Sink<ModelPart> {
    const place = this.#made.length
    const before = this.#before[place] ?? null
    this.#made.push(before)
    return before ?? new KeptAnswer(sink, (parts, usage) => this.#keep(place, parts, usage))
  }

  /** Begins a call whose answer must not be kept: its tokens count all the same. */
  count(sink: Sink<ModelPart>): Sink<ModelPart> {
    return sinkTo(sink, (part: ModelPart) => {
      if (part.type === 'finish') this.usage = addUsage(this.usage, part.usage)
      return sink.write(part)
    })
  }

  #keep(place: number, parts: readonly ModelPart[], usage: Usage): void {
    this.#made[place] = parts
    this.usage = addUsage(this.usage, usage)
  }
}

/** Passes an answer on, and keeps its parts when it is finished. */
class KeptAnswer implements Sink<ModelPart> {
  readonly #sink: Sink<ModelPart>
  readonly #finished: (parts: readonly ModelPart[], usage: Usage) => void
  #parts: ModelPart[] = []

  constructor(sink: Sink<ModelPart>, finished: (parts: readonly ModelPart[], usage: Usage) => void) {
    this.#sink = sink
    this.#finished = finished
  }

  get closed(): boolean {
    return this.#sink.closed ?? false
  }

  write(part: ModelPart): void | Promise<void> {
    if (part.type === 'restart') this.#parts = []
    else if (part.type !== 'finish') this.#parts.push(part)
    else this.#finished([...this.#parts, { ...part, usage: NO_USAGE }], part.usage)
    return this.#sink.write(part)
  }
}
