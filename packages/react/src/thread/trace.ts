import { type BaseEvent, EventType } from '@ag-ui/client'
import { contextNote } from './context-note.ts'
import type { Run, Span, Tokens } from './run.ts'

type SpanDraft = { -readonly [K in keyof Omit<Span, 'messageIds'>]: Span[K] } & { readonly messageIds: Set<string> }
type RunDraft = { -readonly [K in keyof Omit<Run, 'spans' | 'active'>]: Run[K] } & {
  readonly spans: SpanDraft[]
  readonly active: Set<string>
}

/** The fields of events that a trace reads. */
interface TraceEvent extends BaseEvent {
  readonly runId?: string
  readonly stepName?: string
  readonly name?: string
  readonly value?: unknown
  readonly toolCallId?: string
  readonly toolCallName?: string
  readonly messageId?: string
  readonly parentMessageId?: string
  readonly subagentRunId?: string
  readonly parentSubagentRunId?: string
  readonly outcome?: { readonly type: string; readonly pendingToolCallIds?: readonly string[] }
  readonly usage?: readonly { readonly inputTokens?: number; readonly outputTokens?: number }[]
  readonly metadata?: { readonly error?: unknown }
}

/** The runs of a conversation over time, made of their events. Contract: a run that has not changed is the same object again. */
export class Trace {
  readonly #runs: RunDraft[] = []
  readonly #views = new Map<RunDraft, Run>()
  /** How deep each sub-agent is nested, by its run. */
  readonly #depths = new Map<string, number>()
  #shown: readonly Run[] | undefined
  #last = 0

  get runs(): readonly Run[] {
    this.#shown ??= this.#runs.map((run) => {
      const view = this.#views.get(run) ?? viewOf(run)
      this.#views.set(run, view)
      return view
    })
    return this.#shown
  }

  addEvent(event: BaseEvent): void {
    const now = event.timestamp ?? Math.max(this.#last, Date.now())
    this.#last = now
    this.#shown = undefined
    if (event.type === EventType.RUN_STARTED) {
      const { runId = '' } = event as TraceEvent
      this.#runs.push({ runId, from: now, to: now, status: 'running', spans: [], active: new Set() })
      return
    }
    const run = this.#runs.at(-1)
    // A request that is refused ends no run.
    if (run?.status !== 'running') return
    this.#views.delete(run)
    run.to = now
    this.#addTo(run, event, now)
  }

  #addTo(run: RunDraft, event: TraceEvent, now: number): void {
    const { stepName = '', toolCallId = '', toolCallName = '', subagentRunId: scope = '' } = event
    const depth = this.#depthOf(scope)
    switch (event.type) {
      case EventType.SUBAGENT_STARTED:
        this.#depths.set(scope, this.#depthOf(event.parentSubagentRunId) + 1)
        break
      case EventType.STEP_STARTED:
        run.active.add(stepName)
        open(run, { kind: 'agent', id: `${scope}|${stepName}`, name: stepName, depth: depth * 2, from: now })
        break
      case EventType.STEP_FINISHED:
        run.active.delete(stepName)
        close(run, `${scope}|${stepName}`, now, 'done')
        break
      case EventType.TEXT_MESSAGE_START:
        addMessage(run, depth, event.messageId)
        break
      case EventType.TOOL_CALL_START:
        addMessage(run, depth, event.parentMessageId)
        open(run, { kind: 'tool', id: toolCallId, name: toolCallName, depth: depth * 2 + 1, from: now })
        break
      case EventType.TOOL_CALL_RESULT:
        close(run, toolCallId, now, event.metadata?.error ? 'failed' : 'done')
        break
      case EventType.CUSTOM:
        if (event.name === 'trace') addTraceId(run, event)
        else addNote(run, depth, event, now)
        break
      case EventType.RUN_FINISHED:
        end(run, now, outcomeOf(event), tokensIn(event))
        break
      case EventType.RUN_ERROR:
        end(run, now, 'failed')
        break
    }
  }

  #depthOf(subagentRunId = ''): number {
    return subagentRunId === '' ? 0 : (this.#depths.get(subagentRunId) ?? 1)
  }
}

function viewOf({ spans, active, ...run }: RunDraft): Run {
  const shown = spans.map(({ messageIds, ...span }) => ({ ...span, messageIds: [...messageIds] }))
  return { ...run, active: [...active], spans: shown }
}

function outcomeOf({ outcome }: TraceEvent): Run['status'] {
  if (outcome?.type === 'cancelled') return 'stopped'
  return outcome?.type === 'interrupt' || (outcome?.pendingToolCallIds ?? []).length > 0 ? 'waits' : 'done'
}

function tokensIn({ usage }: TraceEvent): Tokens | undefined {
  return usage?.reduce<Tokens>(
    ({ input, output }, { inputTokens = 0, outputTokens = 0 }) => ({
      input: input + inputTokens,
      output: output + outputTokens,
    }),
    { input: 0, output: 0 },
  )
}

function end(run: RunDraft, to: number, status: Run['status'], tokens?: Tokens): void {
  Object.assign(run, { to, status, ...(tokens && { tokens }) })
  run.active.clear()
  for (const span of run.spans) {
    if (span.to === undefined) Object.assign(span, { to, status: status === 'waits' ? 'waits' : 'failed' })
  }
}

function open({ spans }: RunDraft, span: Omit<SpanDraft, 'status' | 'messageIds'>): void {
  spans.push({ ...span, status: 'running', messageIds: new Set() })
}

function close({ spans }: RunDraft, id: string, to: number, status: Span['status']): void {
  const span = spans.findLast((each) => each.id === id && each.to === undefined)
  if (span) Object.assign(span, { to, status })
}

function addTraceId(run: RunDraft, { value }: TraceEvent): void {
  const { traceId } = (value ?? {}) as { readonly traceId?: unknown }
  if (typeof traceId === 'string') run.traceId = traceId
}

/** Adds what happened to the context of the agent, such as a summary. */
function addNote(run: RunDraft, depth: number, { name, value }: TraceEvent, now: number): void {
  const text = contextNote(name, value)
  if (text === undefined) return
  const id = `note ${run.spans.length}`
  open(run, { kind: 'note', id, name: text, depth: depth * 2 + 1, from: now })
  close(run, id, now, name === 'compaction-failed' ? 'failed' : 'done')
}

/** Adds a message to the agent that is active at this depth. */
function addMessage({ spans }: RunDraft, depth: number, messageId: string | undefined): void {
  const agent = spans.findLast((span) => span.kind === 'agent' && span.depth === depth * 2 && span.to === undefined)
  if (messageId !== undefined) agent?.messageIds.add(messageId)
}
