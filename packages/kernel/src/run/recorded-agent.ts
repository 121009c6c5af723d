import type { Journal } from '../agent/journal.ts'
import type { RunContext } from '../context/context.ts'
import type { EventDraft } from '../data/event.ts'
import { type ErrorInfo, KernelError } from '../data/kernel-error.ts'
import { applyChanges, NotedState, type StateChanges } from '../journal/noted-state.ts'
import { sinkTo } from '../stream/sink.ts'
import { type PipeStream, pipe, stream } from '../stream/stream.ts'
import { recordableError } from './recordable-error.ts'

/** The record of an agent: its events, what it did to the state, and the error that ended it. */
type AgentRecord = StateChanges & { readonly events: readonly EventDraft[]; readonly error?: ErrorInfo }

/** Runs an agent that records no steps as one step, or shows again what it showed. Contract: a run that was stopped, or that asks, is not recorded. */
export function recordedAgent(
  journal: Journal,
  step: string,
  ctx: RunContext,
  run: (ctx: RunContext) => AsyncIterable<EventDraft>,
): PipeStream<EventDraft> {
  return stream(async (sink) => {
    let made: { readonly thrown?: unknown } | undefined
    const record = await journal.perform<AgentRecord>(step, async () => {
      const state = new NotedState(ctx.state)
      const events: EventDraft[] = []
      const kept = sinkTo(sink, (draft: EventDraft) => {
        events.push(draft)
        return sink.write(draft)
      })
      try {
        await pipe(run(ctx.derive({ state })), kept)
        made = {}
        return { events, ...state.changes() }
      } catch (thrown) {
        if (KernelError.is(thrown, 'INTERRUPTED')) throw thrown
        const error = recordableError(ctx, thrown).toJSON()
        made = { thrown }
        return { events, ...state.changes(), error }
      }
    })
    if (!made) {
      applyChanges(ctx.state, record)
      for (const draft of record.events) await sink.write(draft)
    }
    if (record.error) throw made ? made.thrown : KernelError.from(record.error)
  })
}
