import {
  type ErrorInfo,
  type RecordCommand,
  type RunRecord,
  type ThreadRef,
  type ToolCallRecord,
  type ToolCallResult,
  textOf,
} from '@troupe/kernel'
import type { RecordedRun } from './recorded-run.ts'

/** A notification about a write. Contract: sent after the write; in order for each run. */
export type Notification = {
  /** `done` is any end but `failed`; `status` says which. A call that waits comes as `tool-end` too. */
  readonly type: 'init' | 'continue' | 'done' | 'failed' | 'tool-start' | 'tool-end'
  /** The id of the run: the assistant message of the conversation. */
  readonly messageId: string
  /** The parent of a nested run, which is not a message of the conversation. */
  readonly parentMessageId?: string
  readonly ref: ThreadRef
  readonly threadId: string
  readonly status: RunRecord['status'] | ToolCallRecord['status']
  /** Replaces the receiver's text from `startAt` on; at the end of a run the whole text, for a call its result. */
  readonly text: string
  readonly startAt: number
  /** The sequence in the thread, once it is known. */
  readonly seq?: number
  readonly error?: ErrorInfo
  /** The call that a `tool-start` or `tool-end` is about. */
  readonly call?: ToolCallRecord
}

/** The notification for a written command. */
export function notificationOf(run: RecordedRun, command: RecordCommand): Notification | undefined {
  switch (command.type) {
    case 'run-start':
      return { ...baseOf(run), type: 'init', status: 'generating' }
    case 'run-text':
      return { ...baseOf(run), type: 'continue', status: 'generating', text: command.text, startAt: command.offset }
    case 'run-finish':
      return endOf(run, command)
    case 'tool-call': {
      const { call } = command
      const type = call.status === 'running' ? 'tool-start' : 'tool-end'
      return { ...baseOf(run), type, status: call.status, text: resultText(call), call }
    }
    case 'usage':
      return undefined
  }
}

/** The notification for the end of a run, as the store has it. */
export function endOf(
  run: RecordedRun,
  end: { readonly status: RunRecord['status']; readonly text?: string; readonly error?: ErrorInfo },
): Notification {
  const { status, text = run.text.whole, error } = end
  const type = status === 'failed' ? 'failed' : 'done'
  return { ...baseOf(run), type, status, text, ...(error && { error }) }
}

/** The fields that all notifications of a run share. */
function baseOf({ runId, parentRunId, ref, seq }: RecordedRun): Omit<Notification, 'type' | 'status'> {
  return {
    messageId: runId,
    ...(parentRunId !== undefined && { parentMessageId: parentRunId }),
    ref,
    threadId: ref.threadId,
    ...(seq !== undefined && { seq }),
    text: '',
    startAt: 0,
  }
}

function resultText({ result }: ToolCallRecord): string {
  return result === undefined ? '' : textOf((result as unknown as ToolCallResult).content)
}
