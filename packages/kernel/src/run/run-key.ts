import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * The key of a run, for idempotency keys of what it does.
 * Contract: unique over all owners and threads, and printable ASCII.
 * @example const key = `${runKey(ctx)}/mail`
 */
export function runKey(ctx: RunContext): string {
  return internals(ctx).core.key
}
