import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * Asks the host of a run whether an effect may begin, for agents that call models and tools themselves.
 * Contract: throws, now or later, if it may not: another process may have the thread by now.
 * @example await beforeEffect(ctx)
 */
export function beforeEffect(ctx: RunContext): void | Promise<void> {
  return internals(ctx).core.beforeEffect?.()
}
