import type { RunContext } from '../context/context.ts'
import { KernelError } from '../data/kernel-error.ts'
import { internals } from '../engine/kernel-context.ts'

/**
 * Returns the error that a journal keeps of work that failed.
 * Contract: throws what was thrown if the whole run was stopped, because the work is then done again; of work that was stopped while
 * the run goes on, such as that of a sub-agent whose time is over, it is the reason.
 * @example const info = recordableError(ctx, new Error('no connection')).toJSON()
 */
export function recordableError(ctx: RunContext, thrown: unknown): KernelError {
  const { core, signal } = internals(ctx)
  if (core.rootAborted) throw thrown
  return core.abortState.errorWith(signal) ?? KernelError.from(thrown)
}
