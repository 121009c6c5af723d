import type { RunContext } from '../context/context.ts'
import { internals } from '../context/kernel-context.ts'
import type { Span, Spans } from './callback.ts'

/**
 * Opens a model or tool span for those who call models and tools; nothing, at no cost, if nobody listens.
 * @example const span = openSpan(ctx, 'model', model.name, request)
 */
export function openSpan<C extends 'model' | 'tool'>(
  ctx: RunContext,
  component: C,
  name: string,
  input: Spans[C]['input'],
): Span<C> | undefined {
  const { core, place } = internals(ctx)
  const callId = 'callId' in input ? input.callId : undefined
  return core.openSpan(component, name, input.step, input, place.agent?.spanId, callId)
}
