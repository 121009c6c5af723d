import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * Puts messages of a run so far into this order, for an agent that runs others at the same time; without it, they are in the order in which they came.
 * @example orderMessages(ctx, ['m2', 'm1'])
 */
export function orderMessages(ctx: RunContext, ids: readonly string[]): void {
  internals(ctx).core.recorder?.order(ids)
}
