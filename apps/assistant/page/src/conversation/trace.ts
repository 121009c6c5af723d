import { type BaseEvent, EventType } from '@ag-ui/client'
import { contextNote } from './context-note.ts'
import type { Tokens } from './server.ts'

/** The time in which an agent or a tool was active, or the moment of a note. */
export interface Span {
  readonly id: string
  readonly kind: 'agent' | 'tool' | 'note'
  readonly name: string
  readonly depth: number
  readonly from: number
  to?: number
  status: 'running' | 'done' | 'waits' | 'failed'
  /** The messages that an agent wrote, for their tokens. */
  readonly messages: Set<string>
}

/** The timeline of a run. */
export interface RunTrace {
  readonly runId: string
  readonly from: number
  /** When it ended, or the time of its last event. */
  to: number
  outcome: 'running' | 'done' | 'waits' | 'stopped' | 'failed'
  /** The id of its trace in OpenTelemetry. */
  traceId?: string | undefined
  readonly spans: Span[]
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
  readonly metadata?: { readonly error?: unknown }
}

/** The timeline of a conversation, made of its events. */
export class Trace {
  readonly runs: RunTrace[] = []
  /** The agents that are active now. */
  readonly active = new Set<string>()
  /** How deep each sub-agent is nested, by its run. */
  readonly #depths = new Map<string, number>()
  #last = 0

  addEvent(event: BaseEvent): void {
    const now = event.timestamp ?? Math.max(this.#last, Date.now())
    this.#last = now
    if (event.type === EventType.RUN_STARTED) {
      const { runId = '' } = event as TraceEvent
      this.runs.push({ runId, from: now, to: now, outcome: 'running', spans: [] })
      return
    }
    const run = this.runs.at(-1)
    if (!run) return
    run.to = now
    this.#addTo(run, event, now)
  }

  #addTo(run: RunTrace, event: TraceEvent, now: number): void {
    const { stepName = '', toolCallId = '', toolCallName = '', subagentRunId: scope = '' } = event
    const depth = this.#depthOf(scope)
    switch (event.type) {
      case EventType.SUBAGENT_STARTED:
        this.#depths.set(scope, this.#depthOf(event.parentSubagentRunId) + 1)
        break
      case EventType.STEP_STARTED:
        this.active.add(stepName)
        open(run, { kind: 'agent', id: `${scope}|${stepName}`, name: stepName, depth: depth * 2, from: now })
        break
      case EventType.STEP_FINISHED:
        this.active.delete(stepName)
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
        if (event.name === 'trace') run.traceId = traceIdOf(event) ?? run.traceId
        else addNote(run, depth, event, now)
        break
      case EventType.RUN_FINISHED:
        this.#end(run, now, outcomeOf(event))
        break
      case EventType.RUN_ERROR:
        this.#end(run, now, 'failed')
        break
    }
  }

  #depthOf(subagentRunId = ''): number {
    return subagentRunId === '' ? 0 : (this.#depths.get(subagentRunId) ?? 1)
  }

  #end(run: RunTrace, to: number, outcome: RunTrace['outcome']): void {
    Object.assign(run, { to, outcome })
    this.active.clear()
    for (const span of run.spans) {
      if (span.to === undefined) Object.assign(span, { to, status: outcome === 'waits' ? 'waits' : 'failed' })
    }
  }
}

function outcomeOf({ outcome }: TraceEvent): RunTrace['outcome'] {
  if (outcome?.type === 'cancelled') return 'stopped'
  return outcome?.type === 'interrupt' || (outcome?.pendingToolCallIds ?? []).length > 0 ? 'waits' : 'done'
}

function open({ spans }: RunTrace, span: Omit<Span, 'status' | 'messages'>): void {
  spans.push({ ...span, status: 'running', messages: new Set() })
}

function close({ spans }: RunTrace, id: string, to: number, status: Span['status']): void {
  const span = spans.findLast((each) => each.id === id && each.to === undefined)
  if (span) Object.assign(span, { to, status })
}

function traceIdOf({ value }: TraceEvent): string | undefined {
  const { traceId } = (value ?? {}) as { readonly traceId?: unknown }
  return typeof traceId === 'string' ? traceId : undefined
}

/** Adds what happened to the context of the agent, such as a summary. */
function addNote(run: RunTrace, depth: number, { name, value }: TraceEvent, now: number): void {
  const text = contextNote(name, value)
  if (text === undefined) return
  const id = `note ${run.spans.length}`
  open(run, { kind: 'note', id, name: text, depth: depth * 2 + 1, from: now })
  close(run, id, now, name === 'compaction-failed' ? 'failed' : 'done')
}

/** Adds a message to the agent that is active at this depth. */
function addMessage({ spans }: RunTrace, depth: number, messageId: string | undefined): void {
  const agent = spans.findLast((span) => span.kind === 'agent' && span.depth === depth * 2 && span.to === undefined)
  if (messageId !== undefined) agent?.messages.add(messageId)
}

/** Adds up the tokens of spans, and what they cost, if anything has a price. */
export function tokensOf(
  spans: readonly Span[],
  tokens: Tokens,
): { readonly input: number; readonly output: number; readonly cost?: number } {
  const sum: { input: number; output: number; cost?: number } = { input: 0, output: 0 }
  for (const id of spans.flatMap(({ messages }) => [...messages])) {
    const { input = 0, output = 0, cost } = tokens[id] ?? {}
    sum.input += input
    sum.output += output
    if (cost !== undefined) sum.cost = (sum.cost ?? 0) + cost
  }
  return sum
}
