import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * The context of a hook that may ask: `ctx.derive({ asker })` for code that calls many hooks.
 * @example const own = askingContext(ctx, 'logging/beforeAgent')
 */
export function askingContext(ctx: RunContext, asker: string): RunContext {
  return internals(ctx).askedBy(asker)
}
