import {
  type CallModel,
  type ErrorInfo,
  type Journal,
  KernelError,
  type ModelPart,
  type ModelRequest,
  type PipeStream,
  type RunContext,
  type Sink,
  stream,
} from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { markModelError } from '../errors/error-origin.ts'

/** The record of a model call: the parts of its answer, and the error that ended it. */
type ModelRecord = { readonly parts: readonly ModelPart[]; readonly error?: ErrorInfo }

/**
 * Calls the model under the journal of the run, or gives the answer that it gave before.
 * Contract: what readers have seen of an answer that broke off is taken back with `restart`, as after a retry; a call that was stopped is not recorded.
 */
export function recordedModel(
  journal: Journal,
  ctx: RunContext,
  request: ModelRequest,
  call: CallModel,
): PipeStream<ModelPart> {
  return stream(async (sink) => {
    let made: { readonly thrown?: unknown } | undefined
    const { parts, error } = await journal.perform<ModelRecord>(request.idempotencyKey, async () => {
      const recorder = new PartRecorder(sink)
      try {
        const shown = journal.shown?.(ctx)
        if (shown?.length) await takeBack(shown, recorder)
        await pipe(call(ctx, request), recorder)
        made = {}
        return { parts: recorder.parts }
      } catch (thrown) {
        const error = KernelError.from(thrown)
        if (ctx.signal.aborted || error.code === 'INTERRUPTED') throw thrown
        made = { thrown }
        return { parts: recorder.parts, error: error.toJSON() }
      }
    })
    if (!made) for (const part of parts) await sink.write(part)
    if (error) throw made ? made.thrown : markModelError(KernelError.from(error))
  })
}

async function takeBack(shown: readonly ModelPart[], sink: Sink<ModelPart>): Promise<void> {
  for (const part of shown) await sink.write(part)
  await sink.write({ type: 'restart' })
}

/** Passes the parts of an answer on and keeps them, with deltas that follow each other joined. */
class PartRecorder implements Sink<ModelPart> {
  readonly parts: ModelPart[] = []
  readonly #sink: Sink<ModelPart>

  constructor(sink: Sink<ModelPart>) {
    this.#sink = sink
  }

  write(part: ModelPart): void | Promise<void> {
    const joined = join(this.parts.at(-1), part)
    if (joined) this.parts[this.parts.length - 1] = joined
    else this.parts.push(part)
    return this.#sink.write(part)
  }
}

function join(last: ModelPart | undefined, part: ModelPart): ModelPart | undefined {
  if (last?.type !== part?.type) return undefined
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return { ...part, delta: (last as typeof part).delta + part.delta }
    case 'tool-call-delta': {
      const { callId, delta } = last as typeof part
      return callId === part.callId ? { ...part, delta: delta + part.delta } : undefined
    }
    default:
      return undefined
  }
}
