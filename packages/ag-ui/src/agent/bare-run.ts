import type { RunAgentInput } from '@ag-ui/core'
import { type Interrupt, NO_USAGE, type Outcome } from '@troupe/kernel'
import type { AgUiEvent, Translator } from '../protocol.ts'

/** The start and finish of a run in which nothing happens; questions that are open are asked again, or a client would take them for answered. */
export function bareRun(
  translator: Translator,
  { runId }: RunAgentInput,
  agentName: string,
  interrupts: readonly Interrupt[],
  outcome: Outcome = interrupts.length > 0 ? 'interrupted' : 'complete',
): readonly AgUiEvent[] {
  const stamp = { runId, agentName, runPath: [] }
  const start = translator.translate({ ...stamp, type: 'run-start' })
  const end = translator.translate({
    ...stamp,
    type: 'run-end',
    outcome,
    text: '',
    usage: NO_USAGE,
    ...(interrupts.length > 0 && { interrupts }),
  })
  return [...start, ...end]
}
