import type { KernelError } from '@troupe/kernel'

const MODEL_ERRORS = new WeakSet<object>()
const HANDLER_ERRORS = new WeakSet<object>()

/** Marks an error as a model's, so that a handler around the model call does not rename it. */
export function markModelError(error: KernelError): KernelError {
  MODEL_ERRORS.add(error)
  return error
}

/** Whether an error was marked as a model's. */
export function isModelError(error: unknown): boolean {
  return MODEL_ERRORS.has(error as object)
}

/** Marks an error that names its handler already, whatever its code. */
export function markHandlerError(error: KernelError): KernelError {
  HANDLER_ERRORS.add(error)
  return error
}

/** Whether an error names its handler already. */
export function isHandlerError(error: unknown): boolean {
  return HANDLER_ERRORS.has(error as object)
}
