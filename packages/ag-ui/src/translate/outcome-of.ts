import type { RunFinishedOutcome, TokenUsage } from '@ag-ui/core'
import type { EventOf, Interrupt, Usage } from '@troupe/kernel'
import { interruptOf } from './interrupt-of.ts'

/** The outcome of a run that did not fail; `askedBy` has the sub-agents of its questions. Contract: no call is pending that the client has seen answered. */
export function outcomeOf(
  { outcome, interrupts, openCallIds = [] }: EventOf<'run-end'>,
  isOpen: (callId: string) => boolean,
  askedBy: ReadonlyMap<string, string>,
  clientToolPrefix?: string,
): RunFinishedOutcome {
  if (outcome === 'cancelled') return { type: 'cancelled' }
  const asked = askedOf(interrupts)
  if (asked.length > 0) {
    const shown = (question: Interrupt) => interruptOf(question, askedBy.get(question.id), clientToolPrefix)
    return { type: 'interrupt', interrupts: asked.map(shown) }
  }
  const pending = openCallIds.map(String).filter(isOpen)
  return pending.length > 0 ? { type: 'success', pendingToolCallIds: pending } : { type: 'success' }
}

/** The questions of a run. Contract: leaves out malformed ones, which cannot be answered. */
export function askedOf(interrupts: readonly Interrupt[] = []): readonly Interrupt[] {
  return interrupts.filter(({ id, reason }) => typeof id === 'string' && typeof reason === 'string')
}

/** Token counts as AG-UI has them; undefined if none were counted. */
export function usageOf({
  inputTokens,
  outputTokens,
  reasoningTokens,
  cachedInputTokens,
  cacheWriteTokens,
}: Usage): TokenUsage[] | undefined {
  if (!inputTokens && !outputTokens) return undefined
  return [
    {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(reasoningTokens !== undefined && { reasoningTokens }),
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
      ...(cacheWriteTokens !== undefined && { cacheWriteInputTokens: cacheWriteTokens }),
    },
  ]
}
