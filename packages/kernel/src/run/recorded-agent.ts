import type { Journal } from '../agent/journal.ts'
import type { RunContext } from '../context/context.ts'
import type { EventDraft } from '../data/event.ts'
import { type ErrorInfo, KernelError } from '../data/kernel-error.ts'
import { NotedStep, repeatEffects, type StepEffects } from '../journal/noted-step.ts'
import { sinkTo } from '../stream/sink.ts'
import { type PipeStream, pipe, stream } from '../stream/stream.ts'
import { keepInOrder, orderMessages } from './order-messages.ts'
import { recordableError } from './recordable-error.ts'

/** The record of an agent: its events, the orders of messages that came side by side, what else it did to the run, and the error that ended it. */
type AgentRecord = StepEffects & { readonly error?: ErrorInfo; readonly orders?: readonly (readonly string[])[] }

/** Runs an agent that records no steps as one step, or shows again what it showed. Contract: a run that was stopped, or that asks, is not recorded. */
export function recordedAgent(
  journal: Journal,
  step: string,
  ctx: RunContext,
  run: (ctx: RunContext) => AsyncIterable<EventDraft>,
): PipeStream<EventDraft> {
  return stream(async (sink) => {
    let made: { readonly thrown?: unknown } | undefined
    const work = async (): Promise<AgentRecord> => {
      const noted = new NotedStep(ctx, journal)
      const orders: (readonly string[])[] = []
      const release = keepInOrder(ctx, { order: (ids) => void orders.push(ids) })
      const effects = () => ({ ...noted.effects(), ...(orders.length > 0 && { orders }) })
      const kept = sinkTo(sink, (draft: EventDraft) => {
        noted.note(draft)
        return sink.write(draft)
      })
      try {
        await pipe(run(noted.ctx), kept)
        made = {}
        return effects()
      } catch (thrown) {
        if (KernelError.is(thrown, 'INTERRUPTED')) throw thrown
        const error = recordableError(ctx, thrown).toJSON()
        made = { thrown }
        return { ...effects(), error }
      } finally {
        release()
      }
    }
    let record: AgentRecord
    try {
      record = await journal.perform(step, work)
    } catch (error) {
      if (!KernelError.is(error, 'OUTCOME_UNKNOWN') || !journal.hasLeft?.(insideOf(ctx))) throw error
      // The run is not to go on, but steps inside the agent were done: it comes as far as the last of them.
      return pipe(run(ctx), sink)
    }
    if (!made) await repeat(journal, ctx, record)
    if (record.error) throw made ? made.thrown : KernelError.from(record.error)
  })
}

/** Does to the run what the agent did when it was recorded. */
async function repeat(journal: Journal, ctx: RunContext, record: AgentRecord): Promise<void> {
  await repeatEffects(journal, ctx, record)
  for (const ids of record.orders ?? []) orderMessages(ctx, ids)
}

/** What the names of the steps inside an agent begin with. */
function insideOf({ runId, step }: RunContext): string {
  return step === '' ? `${runId}/` : `${runId}/${step}/`
}
