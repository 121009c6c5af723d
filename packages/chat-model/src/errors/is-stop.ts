import type { KernelError, RunContext } from '@troupe/kernel'

/** Whether an error really stops or interrupts the run. Contract: a code alone is not enough, because any code can throw it. */
export function isStop(error: KernelError, ctx: RunContext): boolean {
  if (error.code === 'INTERRUPTED') return 'interruptIds' in error.details
  return error.code === 'ABORTED' && (ctx.signal.aborted || ctx.cancelling !== undefined)
}
