import { type BaseEvent, EventType } from '@ag-ui/client'
import type { Tokens } from './server.ts'

/** Somebody or something at work, from when to when. */
export interface Span {
  readonly id: string
  readonly kind: 'agent' | 'tool'
  readonly name: string
  readonly depth: number
  readonly from: number
  to?: number
  status: 'running' | 'done' | 'waits' | 'failed'
  /** The messages an agent wrote, for their tokens. */
  readonly messages: Set<string>
}

/** A run over time. */
export interface RunTrace {
  readonly runId: string
  readonly from: number
  /** When it ended, or the last sign of life. */
  to: number
  outcome: 'running' | 'done' | 'waits' | 'stopped' | 'failed'
  readonly spans: Span[]
}

/** The parts of events that a trace is made of. */
interface Traced extends BaseEvent {
  readonly runId?: string
  readonly stepName?: string
  readonly toolCallId?: string
  readonly toolCallName?: string
  readonly messageId?: string
  readonly parentMessageId?: string
  readonly subagentRunId?: string
  readonly outcome?: { readonly type: string; readonly pendingToolCallIds?: readonly string[] }
  readonly metadata?: { readonly error?: unknown }
}

/** Who ran when: the timeline of a conversation, from its events. */
export class Trace {
  readonly runs: RunTrace[] = []
  /** Who is at work right now. */
  readonly active = new Set<string>()
  #last = 0

  see(event: BaseEvent): void {
    const { type, runId, stepName, toolCallId, toolCallName, outcome, ...rest } = event as Traced
    const now = event.timestamp ?? Math.max(this.#last, Date.now())
    this.#last = now
    if (type === EventType.RUN_STARTED) {
      this.runs.push({ runId: runId ?? '', from: now, to: now, outcome: 'running', spans: [] })
      return
    }
    const run = this.runs.at(-1)
    if (!run) return
    run.to = now
    const scope = rest.subagentRunId ?? ''
    const depth = scope === '' ? 0 : scope.split('/tool:').length - 1
    switch (type) {
      case EventType.STEP_STARTED:
        this.active.add(stepName ?? '')
        this.#open(run, 'agent', `${scope}|${stepName}`, stepName ?? '', depth * 2, now)
        return
      case EventType.STEP_FINISHED:
        this.active.delete(stepName ?? '')
        this.#close(run, `${scope}|${stepName}`, now, 'done')
        return
      case EventType.TEXT_MESSAGE_START:
        this.#wrote(run, depth, rest.messageId)
        return
      case EventType.TOOL_CALL_START:
        this.#wrote(run, depth, rest.parentMessageId)
        this.#open(run, 'tool', toolCallId ?? '', toolCallName ?? '', depth * 2 + 1, now)
        return
      case EventType.TOOL_CALL_RESULT:
        this.#close(run, toolCallId ?? '', now, rest.metadata?.error ? 'failed' : 'done')
        return
      case EventType.RUN_FINISHED: {
        const waits = outcome?.type === 'interrupt' || (outcome?.pendingToolCallIds?.length ?? 0) > 0
        this.#end(run, now, outcome?.type === 'cancelled' ? 'stopped' : waits ? 'waits' : 'done')
        return
      }
      case EventType.RUN_ERROR:
        this.#end(run, now, 'failed')
        return
    }
  }

  #open(run: RunTrace, kind: Span['kind'], id: string, name: string, depth: number, from: number): void {
    run.spans.push({ id, kind, name, depth, from, status: 'running', messages: new Set() })
  }

  #close(run: RunTrace, id: string, to: number, status: Span['status']): void {
    const span = run.spans.findLast((each) => each.id === id && each.to === undefined)
    if (span) Object.assign(span, { to, status })
  }

  #wrote(run: RunTrace, depth: number, messageId: string | undefined): void {
    const speaker = run.spans.findLast(
      ({ kind, depth: at, to }) => kind === 'agent' && at === depth * 2 && to === undefined,
    )
    if (messageId !== undefined) speaker?.messages.add(messageId)
  }

  #end(run: RunTrace, to: number, outcome: RunTrace['outcome']): void {
    Object.assign(run, { to, outcome })
    this.active.clear()
    for (const span of run.spans) {
      if (span.to === undefined) Object.assign(span, { to, status: outcome === 'waits' ? 'waits' : 'failed' })
    }
  }
}

/** What spans cost together. */
export function tokensOf(spans: readonly Span[], tokens: Tokens): { readonly input: number; readonly output: number } {
  const spent = { input: 0, output: 0 }
  for (const id of spans.flatMap(({ messages }) => [...messages])) {
    spent.input += tokens[id]?.input ?? 0
    spent.output += tokens[id]?.output ?? 0
  }
  return spent
}
