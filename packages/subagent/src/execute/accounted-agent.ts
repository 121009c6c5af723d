import {
  type Agent,
  type AgentAction,
  type AgentEvent,
  type AgentInput,
  type EventDraft,
  type Json,
  type JsonObject,
  type PipeStream,
  pipe,
  type ResumeInfo,
  type RunContext,
  sinkTo,
  stream,
} from '@troupe/kernel'
import { messageOf, unanswered } from '@troupe/kernel/history'
import { type Ledger, ledgerOf, type Spent } from './ledger.ts'

/** What is kept of an agent that waits: what it has used, and its own state unless it only waits for results of long-running calls. */
type Saved = { readonly format: 1; readonly spent: Spent; readonly inner?: Json }

/** An agent whose use is written down, and goes on being so when it is resumed in another process. */
export function accountedAgent(inner: Agent): Agent {
  const { name, description, observesItself } = inner
  return {
    name,
    description,
    ...(observesItself && { observesItself }),
    run(input, ctx) {
      const ledger = ledgerOf(ctx)
      ledger.begin(ctx.runId, input.messages)
      return accounted(inner.run(input, ctx), ledger, ctx)
    },
    resume(info, ctx) {
      const ledger = ledgerOf(ctx)
      const saved = savedIn(info.state)
      ledger.begin(ctx.runId, info.messages, { spent: saved?.spent })
      return accounted(goOn(inner, info, saved, ctx), ledger, ctx)
    },
  }
}

function goOn(inner: Agent, info: ResumeInfo, saved: Saved | undefined, ctx: RunContext): AsyncIterable<EventDraft> {
  if (saved && saved.inner === undefined) {
    const { messages, additions, options } = info
    const input: AgentInput = { messages, ...(additions && { additions }), ...(options && { options }) }
    return inner.run(input, ctx)
  }
  const own: ResumeInfo = saved ? { ...info, state: saved.inner ?? null } : info
  return inner.resume ? inner.resume(own, ctx) : inner.run(own, ctx)
}

function savedIn(state: Json): Saved | undefined {
  const saved = state as JsonObject | null
  return saved?.format === 1 && 'spent' in saved ? (saved as unknown as Saved) : undefined
}

function accounted(source: AsyncIterable<EventDraft>, ledger: Ledger, ctx: RunContext): PipeStream<EventDraft> {
  return stream(async (sink) => {
    let asked = false
    const write = (draft: EventDraft): void | Promise<void> => {
      if (draft.runId !== undefined && draft.runId !== ctx.runId) return sink.write(draft)
      if (draft.type === 'message-end' || draft.type === 'tool-end') note(draft, ledger, ctx)
      if (draft.type !== 'action' || draft.action.type !== 'interrupt') return sink.write(draft)
      asked = true
      return sink.write({ ...draft, action: waiting(ledger, draft.action) })
    }
    await pipe(source, sinkTo(sink, write))
    if (asked || unanswered(ledger.history).length === 0) return
    const action: AgentAction = { type: 'interrupt', interrupts: [], state: savedOf(ledger) }
    await sink.write({ type: 'action', action })
  })
}

function note(draft: EventDraft & { type: 'message-end' | 'tool-end' }, ledger: Ledger, ctx: RunContext): void {
  const message = messageOf({ agentName: ctx.agentName, ...draft } as AgentEvent)
  if (message) ledger.hear(message)
  if (draft.type !== 'message-end') return
  if (!draft.dropped) ledger.turns++
  if (draft.usage) ledger.use(draft.usage)
}

function waiting(ledger: Ledger, action: AgentAction & { type: 'interrupt' }): AgentAction {
  return { ...action, state: { ...savedOf(ledger), inner: action.state ?? null } }
}

function savedOf(ledger: Ledger): Saved {
  return { format: 1, spent: ledger.spent }
}
