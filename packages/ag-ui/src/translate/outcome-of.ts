import type { Interrupt as AgUiInterrupt, RunFinishedOutcome, TokenUsage } from '@ag-ui/core'
import type { EventOf, Interrupt, Usage } from '@troupe/kernel'
import { copyOf } from './shared-state.ts'

/** The outcome of a run that did not fail. Contract: no call is pending that the client has seen answered. */
export function outcomeOf(
  { outcome, interrupts, openCallIds = [] }: EventOf<'run-end'>,
  isOpen: (callId: string) => boolean,
): RunFinishedOutcome {
  if (outcome === 'cancelled') return { type: 'cancelled' }
  const asked = askedOf(interrupts)
  if (asked.length > 0) return { type: 'interrupt', interrupts: asked.map(interruptOf) }
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
}: Usage): TokenUsage[] | undefined {
  if (!inputTokens && !outputTokens) return undefined
  return [
    {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(reasoningTokens !== undefined && { reasoningTokens }),
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    },
  ]
}

/**
 * A question as a client asks it.
 * @example interruptOf({ id: 'c1#…', reason: 'approval', agentName: 'clerk', callId: 'c1' }).toolCallId // 'c1'
 */
export function interruptOf(interrupt: Interrupt): AgUiInterrupt {
  const { id, reason, agentName, callId, message, responseSchema, expiresAt, metadata } = interrupt
  const schema = copyOf(responseSchema)
  const until = expiresAt === undefined ? undefined : new Date(expiresAt)
  return {
    id,
    reason,
    ...(message !== undefined && { message }),
    ...(callId !== undefined && { toolCallId: callId }),
    ...(typeof schema === 'object' && schema !== null && { responseSchema: schema }),
    // A date out of range cannot be formatted; the server still enforces it.
    ...(until && !Number.isNaN(until.getTime()) && { expiresAt: until.toISOString() }),
    metadata: { ...(copyOf(metadata) as Record<string, unknown> | undefined), agentName },
  }
}
