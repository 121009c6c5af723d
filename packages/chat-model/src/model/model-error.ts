import type { KernelError } from '@troupe/kernel'

const MODEL_ERRORS = new WeakSet<KernelError>()

/** Marks what a model has failed with, so that no handler around it is blamed. */
export function modelError(error: KernelError): KernelError {
  MODEL_ERRORS.add(error)
  return error
}

/** Whether an error came out of a model. */
export function isModelError(error: KernelError): boolean {
  return MODEL_ERRORS.has(error)
}
