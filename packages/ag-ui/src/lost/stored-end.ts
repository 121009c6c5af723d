import type { AgentEvent, Message, Thread } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'

/** A message of a thread, with its run. */
interface Row {
  readonly runId: string
  readonly message: Message
}

/**
 * The events of a run that has ended in its thread, as far as the thread tells.
 * Contract: undefined if it is not certain how the run ended: only a question, a call that waits for its result, or an answer at its end tells that.
 */
export function storedEnd(thread: Thread, rows: readonly Row[], runId: string): readonly AgentEvent[] | undefined {
  const own = rows.filter((row) => row.runId === runId).map(({ message }) => message)
  const last = own.at(-1)
  const { checkpoint, openCalls } = thread
  const waits = rows.at(-1)?.runId === runId && (openCalls.length > 0 || checkpoint?.runId === runId)
  const answered = last?.role === 'assistant' && !last.toolCalls?.length && !last.partial
  if (!waits && !answered) return undefined
  const stamp = { runId, agentName: '', runPath: [] }
  const interrupts = waits && checkpoint?.resumedBy === undefined ? (checkpoint?.interrupts ?? []) : []
  const openCallIds = waits ? openCalls.map(({ callId }) => callId) : []
  return [
    { ...stamp, type: 'run-start' },
    ...own.flatMap((message) => eventOf(message, runId)),
    {
      ...stamp,
      type: 'run-end',
      outcome: interrupts.length > 0 ? 'interrupted' : 'complete',
      text: '',
      usage: NO_USAGE,
      ...(interrupts.length > 0 && { interrupts }),
      ...(openCallIds.length > 0 && { openCallIds }),
    },
  ]
}

function eventOf(message: Message, runId: string): AgentEvent[] {
  const stamp = (agentName = '') => ({ runId, agentName, runPath: [] })
  switch (message.role) {
    case 'assistant':
      return [{ ...stamp(message.agentName), type: 'message-end', message }]
    case 'tool': {
      const { id: messageId, callId, name, content, display, data, error } = message
      return [
        {
          ...stamp(message.agentName),
          type: 'tool-end',
          callId,
          messageId,
          name,
          status: error ? 'failed' : 'complete',
          content,
          ...(display !== undefined && { display }),
          ...(data !== undefined && { data }),
          ...(error && { error }),
        },
      ]
    }
    default:
      return []
  }
}
