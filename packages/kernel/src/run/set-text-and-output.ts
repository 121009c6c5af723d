import type { RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'
import type { TextAndOutput } from '../engine/text-and-output.ts'

/**
 * Sets the text and output of a run so far, for an agent that runs others at the same time; without it, the one that speaks last decides.
 * @example setTextAndOutput(ctx, new TextAndOutput())
 */
export function setTextAndOutput(ctx: RunContext, from: TextAndOutput): void {
  internals(ctx).core.textAndOutput.set(from)
}
