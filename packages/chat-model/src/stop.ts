import type { KernelError, RunContext } from '@troupe/kernel'

/** Whether an error says that the run was stopped or waits for a person, and that is so; anybody can throw one that only says it. */
export function isStop(error: KernelError, ctx: RunContext): boolean {
  if (error.code === 'INTERRUPTED') return 'interruptIds' in error.details
  return error.code === 'ABORTED' && (ctx.signal.aborted || ctx.cancelling !== undefined)
}
