import {
  type Agent,
  type AgentAction,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  type Json,
  type JsonObject,
  type PipeStream,
  type ResumeInfo,
  type RunContext,
  stream,
} from '@troupe/kernel'
import { messageOf, unanswered } from '@troupe/kernel/history'
import { pipe, sinkTo } from '@troupe/kernel/kit'
import { type Budget, budgetOf } from './budget.ts'

/** The saved state of an agent that waits: its use so far, and its own state unless it only waits for results of long-running calls. */
type SavedState = { readonly format: 1; readonly spent: Json; readonly inner?: Json }

/** Wraps an agent so that its use counts towards its budget, also after a resume in another process. */
export function budgetedAgent(inner: Agent): Agent {
  const { name, description, observesItself, recordsSteps } = inner
  return {
    name,
    description,
    ...(observesItself && { observesItself }),
    ...(recordsSteps && { recordsSteps }),
    run(input, ctx) {
      const budget = budgetOf(ctx)
      budget.begin(ctx.runId, input.messages)
      return counted(inner.run(input, ctx), budget, ctx)
    },
    resume(info, ctx) {
      const budget = budgetOf(ctx)
      const saved = savedIn(info.state)
      budget.begin(ctx.runId, info.messages, { spent: saved?.spent })
      return counted(resumeInner(inner, info, saved, ctx), budget, ctx)
    },
  }
}

function resumeInner(
  inner: Agent,
  info: ResumeInfo,
  saved: SavedState | undefined,
  ctx: RunContext,
): AsyncIterable<EventDraft> {
  if (saved && saved.inner === undefined) {
    const { messages, additions, options } = info
    const input: AgentInput = { messages, ...(additions && { additions }), ...(options && { options }) }
    return inner.run(input, ctx)
  }
  const own: ResumeInfo = saved ? { ...info, state: saved.inner ?? null } : info
  return inner.resume ? inner.resume(own, ctx) : inner.run(own, ctx)
}

function savedIn(state: Json): SavedState | undefined {
  const saved = state as JsonObject | null
  return saved?.format === 1 && 'spent' in saved ? (saved as unknown as SavedState) : undefined
}

function counted(source: AsyncIterable<EventDraft>, budget: Budget, ctx: RunContext): PipeStream<EventDraft> {
  return stream(async (sink) => {
    let asked = false
    const write = (draft: EventDraft): void | Promise<void> => {
      if (draft.runId !== undefined && draft.runId !== ctx.runId) return sink.write(draft)
      if (draft.type === 'message-end' || draft.type === 'tool-end') countUse(draft, budget, ctx)
      if (draft.type !== 'action' || draft.action.type !== 'interrupt') return sink.write(draft)
      asked = true
      return sink.write({ ...draft, action: waiting(budget, draft.action) })
    }
    await pipe(source, sinkTo(sink, write))
    if (asked || unanswered(budget.history).length === 0) return
    const action: AgentAction = { type: 'interrupt', interrupts: [], state: savedOf(budget) }
    await sink.write({ type: 'action', action })
  })
}

function countUse(draft: EventDraft & { type: 'message-end' | 'tool-end' }, budget: Budget, ctx: RunContext): void {
  const message = messageOf({ agentName: ctx.agentName, ...draft } as AgentEvent)
  if (message) budget.addMessage(message)
  if (draft.type !== 'message-end') return
  if (!draft.dropped && !draft.message.partial) budget.turns++
  if (draft.usage) budget.use(draft.usage)
}

function waiting(budget: Budget, action: AgentAction & { type: 'interrupt' }): AgentAction {
  return { ...action, state: { ...savedOf(budget), inner: action.state ?? null } }
}

function savedOf(budget: Budget): SavedState {
  return { format: 1, spent: budget.spent }
}
