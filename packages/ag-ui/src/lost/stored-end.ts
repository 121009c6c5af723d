import type { AgentEvent, Message, Thread, ThreadStore } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import { newestRows, type RunRow } from './rows-of-run.ts'

/** Whether `storedEnd` knows how a run has ended. Contract: reads no more of the thread than the last message of the run and those after it. */
export async function hasStoredEnd(
  threads: Pick<ThreadStore, 'messages'>,
  thread: Thread,
  runId: string,
): Promise<boolean> {
  let last: RunRow | undefined
  for await (const page of newestRows(threads, thread.ref)) {
    last ??= page[0]
    if (isAsking(thread, last, runId)) return true
    const own = page.find((row) => row.runId === runId)
    if (own) return isAnswer(own.message)
  }
  return false
}

/** Whether a thread waits for what its last run has asked. */
function isAsking({ checkpoint, openCalls }: Thread, last: RunRow | undefined, runId: string): boolean {
  return last?.runId === runId && (openCalls.length > 0 || checkpoint?.runId === runId)
}

/** Whether a run that has said this at its end has given its answer. */
function isAnswer(last: Message | undefined): boolean {
  return last?.role === 'assistant' && !last.toolCalls?.length && !last.partial
}

/**
 * The events of a run that has ended in its thread, as far as the thread tells.
 * Contract: undefined if it is not certain how the run ended: only a question, a call that waits for its result, or an answer at its end tells that.
 */
export function storedEnd(thread: Thread, rows: readonly RunRow[], runId: string): readonly AgentEvent[] | undefined {
  const own = rows.filter((row) => row.runId === runId).map(({ message }) => message)
  const { checkpoint, openCalls } = thread
  const waits = isAsking(thread, rows.at(-1), runId)
  if (!waits && !isAnswer(own.at(-1))) return undefined
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
