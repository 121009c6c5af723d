import { type ContextKey, contextKey, type RunContext } from '../context/context.ts'
import { internals } from '../engine/kernel-context.ts'
import type { TextAndOutput } from '../engine/text-and-output.ts'

/** Where a part of a run collects its text and output, and the run it belongs to: those of nested runs are their own. */
export const TEXT_AND_OUTPUT: ContextKey<
  { readonly runId: string; readonly textAndOutput: TextAndOutput } | undefined
> = contextKey('troupe.textAndOutput')

/**
 * Sets the text and output so far of a run, or of the branch that the context belongs to, for an agent that runs others at the same time, or that was resumed after its
 * last message; without it, the one that speaks last decides.
 * @example setTextAndOutput(ctx, new TextAndOutput())
 */
export function setTextAndOutput(ctx: RunContext, from: TextAndOutput): void {
  const branch = ctx.get(TEXT_AND_OUTPUT)
  const target = branch?.runId === ctx.runId ? branch.textAndOutput : internals(ctx).core.textAndOutput
  target.set(from)
}
