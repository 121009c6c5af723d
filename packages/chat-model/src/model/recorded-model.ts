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
import { NotedStep, repeatEffects, retell, type StepEffects } from '@troupe/kernel/journal'
import { pipe } from '@troupe/kernel/kit'
import { recordableError } from '@troupe/kernel/run'
import { isHandlerError, markHandlerError, markModelError } from '../errors/error-origin.ts'
import type { JournalledPart, MessageBuilder } from './message-builder.ts'

/** The record of a model call: the parts of its answer, what its wraps did to the run, and the error that ended it. */
type ModelRecord = StepEffects & {
  readonly parts: readonly JournalledPart[]
  readonly error?: ErrorInfo
  /** Set if the error is that of a handler, which has refused the answer. */
  readonly refused?: true
}

/**
 * Calls the model under the journal of the run, or gives the answer that it gave before.
 * Contract: what readers have seen of an answer that broke off is taken back with `restart`, as after a retry; a call that was stopped with the whole run is not recorded.
 */
export function recordedModel(
  journal: Journal,
  ctx: RunContext,
  request: ModelRequest,
  call: CallModel,
  builder: Pick<MessageBuilder, 'lastCallId'>,
): PipeStream<ModelPart> {
  return stream(async (sink) => {
    let made: { readonly thrown?: unknown } | undefined
    const record = await journal.perform<ModelRecord>(`${ctx.runId}/${request.step}`, async () => {
      const noted = new NotedStep(ctx)
      const recorder = new PartRecorder(sink, builder)
      try {
        const shown = journal.shown?.(ctx)
        if (shown?.length) await takeBack(shown, recorder)
        await pipe(call(contextOf(noted.ctx, request), request), recorder)
        made = {}
        return { parts: recorder.parts, ...noted.effects() }
      } catch (thrown) {
        if (KernelError.is(thrown, 'INTERRUPTED')) throw thrown
        const error = recordableError(ctx, thrown)
        made = { thrown }
        const refused = isHandlerError(thrown) && ({ refused: true } as const)
        return { parts: recorder.parts, error: error.toJSON(), ...refused, ...noted.effects() }
      }
    })
    if (!made) await repeat(journal, record, ctx, sink)
    else if ('thrown' in made) throw made.thrown
  })
}

/** Does again what the call did when it was recorded. */
async function repeat(journal: Journal, record: ModelRecord, ctx: RunContext, sink: Sink<ModelPart>): Promise<void> {
  await repeatEffects(journal, ctx, record)
  for (const part of record.parts) await retell(journal, () => sink.write(part))
  if (!record.error) return
  const error = KernelError.from(record.error)
  throw record.refused ? markHandlerError(error) : markModelError(error)
}

/** The context of the wraps: a replay does not reach them, so the ids that they make must not count among those of the agent. */
function contextOf(ctx: RunContext, { step }: ModelRequest): RunContext {
  const position = step.slice(step.lastIndexOf('/') + 1)
  return ctx.derive({ step: position })
}

/** Contract: what readers have seen is taken back even if the run is stopped meanwhile; a text is played as a whole, so that it does not end shorter than they have seen it. */
async function takeBack(shown: readonly ModelPart[], recorder: PartRecorder): Promise<void> {
  const whole: ModelPart[] = []
  for (const part of shown) addPart(whole, part)
  try {
    for (const part of whole) await recorder.write(part, { ...part, shown: true })
  } finally {
    await recorder.write({ type: 'restart' })
  }
}

/** Passes the parts of an answer on and keeps them, with deltas that follow each other joined. */
class PartRecorder implements Sink<ModelPart> {
  readonly parts: JournalledPart[] = []
  readonly #sink: Sink<JournalledPart>
  readonly #builder: Pick<MessageBuilder, 'lastCallId'>

  constructor(sink: Sink<ModelPart>, builder: Pick<MessageBuilder, 'lastCallId'>) {
    this.#sink = sink
    this.#builder = builder
  }

  /** Keeps a part, and passes it on, as it is or as `passed`. */
  write(part: ModelPart, passed: JournalledPart = part): void | Promise<void> {
    addPart(this.parts, part)
    const wait = this.#sink.write(passed)
    if (part.type === 'tool-call-start' && part.callId !== '' && this.#builder.lastCallId !== part.callId) {
      this.parts[this.parts.length - 1] = { ...part, renamed: true }
    }
    return wait
  }
}

/** Adds a part; a delta that follows its like is joined to it. */
function addPart(parts: ModelPart[], part: ModelPart): void {
  const joined = join(parts.at(-1), part)
  if (joined) parts[parts.length - 1] = joined
  else parts.push(part)
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
