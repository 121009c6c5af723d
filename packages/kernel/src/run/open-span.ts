import type { Span, Spans } from '../callback/callback.ts'
import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * Opens a span around a model or tool call; returns undefined if no callback observes it.
 * @example const span = openSpan(ctx, 'model', model.name, request)
 */
export function openSpan<C extends 'model' | 'tool'>(
  ctx: RunContext,
  component: C,
  name: string,
  input: Spans[C]['input'],
): Span<C> | undefined {
  const { core, fields } = internals(ctx)
  const callId = 'callId' in input ? input.callId : undefined
  return core.spans?.open(component, name, fields.agentName, input.step, input, fields.agent?.spanId, callId)
}
