import type { RunAgentInput } from '@ag-ui/core'
import type { Outcome, Thread } from '@troupe/kernel'
import { NO_USAGE } from '@troupe/kernel/kit'
import type { AgUiEvent } from '../protocol.ts'
import type { EventTranslator } from '../translate/event-translator.ts'
import { openInterrupts } from './answers-of.ts'

/** The start and finish of a run that does nothing. It repeats the open calls and questions, or a client would take them for answered, and shows the messages to one that has not seen the calls. */
export function bareRun(
  translator: EventTranslator,
  { runId, messages }: RunAgentInput,
  agentName: string,
  thread: Pick<Thread, 'checkpoint' | 'openCalls'> | undefined,
  cancelled = false,
): readonly AgUiEvent[] {
  const interrupts = openInterrupts(thread)
  const openCallIds = thread?.openCalls.map(({ callId }) => callId) ?? []
  const outcome: Outcome = cancelled ? 'cancelled' : interrupts.length > 0 ? 'interrupted' : 'complete'
  const stamp = { runId, agentName, runPath: [] }
  const start = translator.translate({ ...stamp, type: 'run-start' })
  const end = translator.translate({
    ...stamp,
    type: 'run-end',
    outcome,
    text: '',
    usage: NO_USAGE,
    ...(interrupts.length > 0 && { interrupts }),
    ...(openCallIds.length > 0 && { openCallIds }),
  })
  const lacks = outcome === 'complete' && openCallIds.length > 0 && !showsCalls(messages, openCallIds)
  return lacks ? [...start, ...translator.snapshot(), ...end] : [...start, ...end]
}

function showsCalls(messages: RunAgentInput['messages'], callIds: readonly string[]): boolean {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  return callIds.every((callId) => calls.some(({ id }) => id === callId))
}
