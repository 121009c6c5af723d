import type { KernelError } from '@troupe/kernel'

const HANDLER_ERRORS = new WeakSet<object>()

/** Marks what a handler has failed with, whatever its code. */
export function markHandlerError(error: KernelError): KernelError {
  HANDLER_ERRORS.add(error)
  return error
}

/** Whether an error came out of a handler, which it names already. */
export function isHandlerError(error: unknown): boolean {
  return HANDLER_ERRORS.has(error as object)
}
