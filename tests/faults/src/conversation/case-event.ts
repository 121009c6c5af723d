import type { ErrorInfo, Message, Outcome, RecordCommand } from '@troupe/kernel'

/** One thing that a caller of the runner, or the worker around it, has seen. A worker prints each as a line of JSON. */
export type CaseEvent =
  /** A run was requested; `gives` if it brings messages. */
  | { readonly type: 'began'; readonly runId: string; readonly what: string; readonly gives?: boolean }
  /** A message of a run that still goes on, so that nobody may rely on it yet. */
  | { readonly type: 'said'; readonly runId: string; readonly message: Message }
  /** Acknowledged: a question was shown. */
  | Acknowledged<'asked'>
  /** Acknowledged, unless the run failed: a run has ended. */
  | (Acknowledged<'ended'> & {
      readonly outcome: Outcome
      readonly text: string
      readonly openCallIds: readonly string[]
      readonly error?: ErrorInfo
    })
  /** A run never began. */
  | { readonly type: 'refused'; readonly runId: string; readonly code: string }
  /** The process is about to send itself a signal. */
  | { readonly type: 'hit'; readonly at: string }
  | WriteEvent
  /** The worker has done everything; the counts say how much that was. */
  | { readonly type: 'done'; readonly calls: number; readonly statements: number; readonly ms: number }
  /** The worker has carried a conversation on to its end; the counts say how many moments it had. */
  | { readonly type: 'carried-on'; readonly works: number; readonly shows: number; readonly ms: number }

/** The result of one write of a process that was stopped and continued: a commit, an append, a renewal or one record command. */
export interface WriteEvent {
  readonly type: 'wrote'
  readonly call: string
  /** `accepted`, `refused`, or the code of an error. */
  readonly how: string
  readonly command?: RecordCommand
}

/** An event that a caller may rely on. */
interface Acknowledged<Type extends string> {
  readonly type: Type
  readonly runId: string
  /** All messages of the run so far, including its input. */
  readonly messages: readonly Message[]
}

/** Finds the acknowledged events, in order. */
export function acknowledgedIn(events: readonly CaseEvent[]): readonly Acknowledged<'asked' | 'ended'>[] {
  return events.filter(isAcknowledged)
}

function isAcknowledged(event: CaseEvent): event is Extract<CaseEvent, { readonly type: 'asked' | 'ended' }> {
  if (event.type === 'asked') return true
  return event.type === 'ended' && event.outcome !== 'failed' && event.outcome !== 'cancelled'
}

/** Finds the ids of the runs that were requested. */
export function runIdsIn(events: readonly CaseEvent[]): ReadonlySet<string> {
  return new Set(events.flatMap((event) => (event.type === 'began' ? [event.runId] : [])))
}
