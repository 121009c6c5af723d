import { EventType } from '@ag-ui/core'
import type { AgentEvent, AssistantMessage, EventDraft, EventStamp, RunResult } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import { wireOf } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import type { TranslatorOptions } from './event-translator.ts'

/** The stamp of the root agent. */
export const ROOT: EventStamp = { runId: 'R', agentName: 'root', runPath: [] }

/** Events as the kernel stamps them. */
export function stamped(drafts: readonly EventDraft[], stamp: EventStamp = ROOT): AgentEvent[] {
  return drafts.map((draft) => ({ ...stamp, ...draft }) as AgentEvent)
}

/** A run of these events with the given end. */
export function run(drafts: readonly EventDraft[], end: Partial<RunResult> = {}): AgentEvent[] {
  const result = { outcome: 'complete', text: '', usage: NO_USAGE, ...end }
  return stamped([{ type: 'run-start' }, ...drafts, { type: 'run-end', ...result } as EventDraft])
}

/** The events that a client gets between the snapshots of the state; the last one comes only if the state has changed. */
export function shown(
  drafts: readonly EventDraft[],
  end: Partial<RunResult> = {},
  options: Partial<TranslatorOptions> = {},
): readonly unknown[] {
  const events = wire(drafts, end, options).slice(2, -1)
  return events.at(-1)?.type === EventType.STATE_SNAPSHOT ? events.slice(0, -1) : events
}

/** All events that a client gets. */
export function wire(
  drafts: readonly EventDraft[],
  end: Partial<RunResult> = {},
  options: Partial<TranslatorOptions> = {},
): readonly AgUiEvent[] {
  return wireOf(run(drafts, end), options)
}

/** A whole message. */
export function message(
  id: string,
  content: AssistantMessage['content'],
  calls?: AssistantMessage['toolCalls'],
): EventDraft {
  const whole = { id, role: 'assistant', content, agentName: 'root', ...(calls && { toolCalls: calls }) } as const
  return { type: 'message-end', message: whole }
}

/** A call as a model streams it. */
export function call(messageId: string, callId: string, name: string, args: string): EventDraft[] {
  return [
    { type: 'tool-call-start', messageId, callId, name },
    { type: 'tool-call-delta', callId, delta: args },
    { type: 'tool-call-end', call: { id: callId, name, arguments: args } },
  ]
}

/** The result of a call. */
export function result(callId: string, content: string): EventDraft {
  return { type: 'tool-end', callId, messageId: `${callId}-result`, name: 'search', status: 'complete', content }
}
