import { KernelError } from '@troupe/kernel'

/** The error of an aborted run: a reason with a code of its own is a failure, any other reason a cancel. */
export function abortError(reason: unknown): KernelError {
  if (KernelError.is(reason)) return reason
  const timeout = reason instanceof Error && reason.name === 'TimeoutError'
  return new KernelError(timeout ? 'TIMEOUT' : 'ABORTED', 'run: aborted', { cause: reason })
}
